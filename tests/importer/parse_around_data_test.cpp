#include "importer/parse_around_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "importer/external_data.h"
#include "importer/write_model.h"
#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

constexpr std::int64_t kRows = kStaysInFile / sizeof(float) / 2;

onnx::TensorProto counting_up(const std::string& name, float first) {
  std::vector<float> numbers(2 * kRows);
  std::iota(numbers.begin(), numbers.end(), first);
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_dims(kRows);
  tensor.add_dims(2);
  tensor.set_raw_data(numbers.data(), numbers.size() * sizeof(float));
  return tensor;
}

// y = x + v + w + s, of which v and w are large; `padding` moves where their data lie.
onnx::ModelProto with_large_weights(std::size_t padding = 0) {
  onnx::ModelProto proto =
      proto_of("g (float[2] x) => (y) <float[2] s = {1, 2}> { a = Add(x, v) b = Add(a, w) y = Add(b, s) }");
  proto.set_doc_string(std::string(padding, 'x'));
  *proto.mutable_graph()->add_initializer() = counting_up("v", 1);
  *proto.mutable_graph()->add_initializer() = counting_up("w", 5);
  return proto;
}

std::map<std::string, ir::Tensor> constants_of(const Model& model) {
  std::map<std::string, ir::Tensor> constants;
  for (const ir::Value& value : model.graph.values) {
    if (value.constant) constants[value.name] = *value.constant;
  }
  return constants;
}

Model import_as(LargeData large, const std::string& path) {
  return import_model(path, {.large_data = large});
}

std::optional<onnx::ModelProto> parsed_around(const std::string& bytes, std::size_t& left_out) {
  std::unordered_map<const onnx::TensorProto*, std::span<const char>> left;
  auto parsed = parse_around_data(bytes, kStaysInFile, left);
  left_out = left.size();
  return parsed;
}

TEST(ParseAroundData, LeavesOutTheLargeDataOfInitializersAlone) {
  const onnx::ModelProto whole = with_large_weights();
  std::size_t left_out = 0;
  const auto parsed = parsed_around(whole.SerializeAsString(), left_out);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(left_out, 2);
  onnx::ModelProto wanted = whole;
  for (auto& tensor : *wanted.mutable_graph()->mutable_initializer()) {
    if (tensor.name() != "s") tensor.clear_raw_data();
  }
  EXPECT_EQ(parsed->SerializeAsString(), wanted.SerializeAsString());
}

TEST(ParseAroundData, LeavesAModelWithoutLargeDataToTheWholeParser) {
  std::size_t left_out = 0;
  const onnx::ModelProto small = proto_of("g (float[2] x) => (y) <float[2] s = {1, 2}> { y = Add(x, s) }");
  EXPECT_FALSE(parsed_around(small.SerializeAsString(), left_out));
}

// What protobuf merges, or takes the last of, is not taken apart.
TEST(ParseAroundData, LeavesWhatIsThereTwiceToTheWholeParser) {
  std::size_t left_out = 0;
  const std::string bytes = with_large_weights().SerializeAsString();
  EXPECT_FALSE(parsed_around(bytes + bytes, left_out));
  onnx::ModelProto model = with_large_weights();
  const onnx::TensorProto again = counting_up("v", 9);
  std::string graph = model.graph().SerializeAsString();
  model.clear_graph();
  const auto field = [](int number, const std::string& data) {
    std::string text(1, static_cast<char>(number << 3 | 2));
    for (std::size_t length = data.size(); true; length >>= 7) {
      const bool is_last = length < 128;
      text += static_cast<char>((length & 127) | (is_last ? 0 : 128));
      if (is_last) return text + data;
    }
  };
  graph += field(5, again.SerializeAsString() + field(9, again.raw_data()));
  EXPECT_FALSE(parsed_around(model.SerializeAsString() + field(7, graph), left_out));
}

TEST(ParseAroundData, IsNotWhatSaysWhereAFileIsDamaged) {
  const Folder folder;
  const std::string bytes = with_large_weights().SerializeAsString();
  for (const std::size_t end : {bytes.size() - 1, bytes.size() / 2, std::size_t{40}}) {
    const std::string path = folder.write("cut.onnx", bytes.substr(0, end));
    const std::string error = testing::refusal([&] { import_as(LargeData::InFile, path); });
    EXPECT_THAT(error, ::testing::HasSubstr("is no ONNX model"));
    EXPECT_EQ(error, testing::refusal([&] { import_as(LargeData::Copied, path); }));
  }
}

TEST(ParseAroundData, KeepsThatDataMustFitTheShape) {
  const Folder folder;
  onnx::ModelProto model = with_large_weights();
  model.mutable_graph()->mutable_initializer(1)->set_dims(0, kRows + 1);
  const std::string path = folder.write("m.onnx", model.SerializeAsString());
  const std::string error = testing::refusal([&] { import_as(LargeData::InFile, path); });
  EXPECT_THAT(error, ::testing::HasSubstr("tensor 'v': 65536 bytes of raw data found, 65544 needed"));
  EXPECT_EQ(error, testing::refusal([&] { import_as(LargeData::Copied, path); }));
}

TEST(LargeDataInFile, GiveTheSameModelWhereverTheyLie) {
  const Folder folder;
  for (std::size_t padding = 0; padding < sizeof(float); ++padding) {
    const std::string path = folder.write("m.onnx", with_large_weights(padding).SerializeAsString());
    const auto wanted = constants_of(import_as(LargeData::Copied, path));
    const auto found = constants_of(import_as(LargeData::InFile, path));
    ASSERT_EQ(found.size(), wanted.size());
    for (const auto& [name, tensor] : wanted) EXPECT_TRUE(identical(found.at(name), tensor)) << name;
  }
}

TEST(LargeDataInFile, AreReadWhenSomebodyAsksForThem) {
  const Folder folder;
  const std::string path = folder.write("m.onnx", with_large_weights().SerializeAsString());
  const Model copied = import_as(LargeData::Copied, path);
  const Model in_file = import_as(LargeData::InFile, path);
  onnx::ModelProto other = with_large_weights();
  *other.mutable_graph()->mutable_initializer(1) = counting_up("v", 2);
  const std::string bytes = other.SerializeAsString();
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_EQ(*constants_of(copied).at("v").data<float>(), 1);
  EXPECT_EQ(*constants_of(in_file).at("v").data<float>(), 2);
}

TEST(LargeDataInFile, OutliveTheModelAndTheFile) {
  const Folder folder;
  const std::string path = folder.write("m.onnx", with_large_weights(1).SerializeAsString());
  const auto constants = constants_of(import_as(LargeData::InFile, path));
  std::filesystem::remove(path);
  EXPECT_EQ(constants.at("w").data<float>()[2 * kRows - 1], 2 * kRows + 4);
}

TEST(LargeDataInFile, AreReadAgainAfterTheyHaveLeftMemory) {
  const Folder folder;
  const std::string path = folder.write("m.onnx", with_large_weights().SerializeAsString());
  for (const auto& [name, tensor] : constants_of(import_as(LargeData::InFile, path))) {
    if (tensor.source() == nullptr) continue;
    const ir::Tensor before = tensor.clone();
    tensor.source()->leave_memory();
    EXPECT_TRUE(identical(tensor, before)) << name;
  }
}

TEST(LargeDataInFile, ComeBackWhenTheModelIsWritten) {
  const Folder folder;
  const std::string path = folder.write("m.onnx", with_large_weights().SerializeAsString());
  const auto written = [&](LargeData large) {
    const std::string to = folder.file("written.onnx");
    write_model(import_as(large, path), to, {});
    std::ifstream file(to, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string bytes = written(LargeData::InFile);
  EXPECT_GT(bytes.size(), 2 * kStaysInFile);
  EXPECT_EQ(bytes, written(LargeData::Copied));
}

}  // namespace
}  // namespace podium::importer
