#include "importer/external_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

using ::testing::HasSubstr;
using Keys = std::vector<std::pair<std::string, std::string>>;

const std::string kFloats = [] {
  const float values[] = {0, 1, 2, 3};
  return std::string(reinterpret_cast<const char*>(values), sizeof(values));
}();

onnx::ModelProto with_external(const Keys& keys) {
  onnx::ModelProto proto = proto_of("g (float[2] x) => (float[2] y) { y = Add(x, w) }");
  auto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name("w");
  tensor.set_data_type(1);
  tensor.add_dims(2);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] : keys) {
    auto& entry = *tensor.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  }
  return proto;
}

ir::Tensor weight_of(const Model& model) { return *model.graph[model.graph.ops[0].inputs[1]].constant; }

class ExternalData : public ::testing::Test {
 protected:
  Model import(const Keys& keys) {
    return import_model(folder_.write("in/model.onnx", with_external(keys).SerializeAsString()));
  }
  std::string error(const Keys& keys) {
    return testing::refusal([&] { import(keys); });
  }

  Folder folder_;
};

TEST_F(ExternalData, IsMappedFromItsOffset) {
  folder_.write("in/sub/w.bin", kFloats);
  EXPECT_TRUE(identical(weight_of(import({{"location", "sub/w.bin"}, {"offset", "8"}, {"length", "8"}})),
                        ir::Tensor::of<float>({2}, {2, 3})));
  EXPECT_TRUE(
      identical(weight_of(import({{"location", "sub/../sub/w.bin"}})), ir::Tensor::of<float>({2}, {0, 1})));
}

TEST_F(ExternalData, IsCopiedWhereItIsNotAligned) {
  folder_.write("in/w.bin", "z" + kFloats);
  EXPECT_TRUE(identical(weight_of(import({{"location", "w.bin"}, {"offset", "1"}})),
                        ir::Tensor::of<float>({2}, {0, 1})));
}

TEST_F(ExternalData, StaysInTheFileForOneWhoMovesBytes) {
  const auto file = std::make_shared<const MappedFile>(folder_.write("in/w.bin", "z" + kFloats));
  const ir::Tensor weight = tensor_in_file(ir::DataType::Float, {4}, file->bytes().subspan(1), file);
  EXPECT_EQ(weight.raw_bytes(), file->bytes().data() + 1);
  EXPECT_EQ(std::memcmp(weight.raw_bytes(), kFloats.data(), weight.bytes()), 0);
  EXPECT_NE(weight.raw(), file->bytes().data() + 1);
  EXPECT_EQ(weight.raw_bytes(), weight.raw());
}

TEST_F(ExternalData, OutlivesTheModelAndTheFile) {
  const std::string path = folder_.write("in/w.bin", kFloats);
  const ir::Tensor weight = weight_of(import({{"location", "w.bin"}}));
  std::filesystem::remove(path);
  EXPECT_TRUE(identical(weight, ir::Tensor::of<float>({2}, {0, 1})));
}

TEST_F(ExternalData, StaysInTheFolderOfTheModel) {
  folder_.write("out.bin", kFloats);
  std::filesystem::create_directories(folder_.file("in"));
  std::filesystem::create_symlink(folder_.file("out.bin"), folder_.file("in/link.bin"));
  std::filesystem::create_directory_symlink(folder_.path(), folder_.file("in/up"));
  const std::string leads_out = "leads out of the model's folder";
  EXPECT_THAT(error({{"location", "../out.bin"}}),
              HasSubstr("model.onnx: tensor 'w': external data '../out.bin': " + leads_out));
  EXPECT_THAT(error({{"location", "link.bin"}}), HasSubstr(leads_out));
  EXPECT_THAT(error({{"location", "up/out.bin"}}), HasSubstr(leads_out));
  EXPECT_THAT(error({{"location", folder_.file("out.bin")}}), HasSubstr("is an absolute path"));
}

TEST_F(ExternalData, MustBeThereAndLongEnough) {
  folder_.write("in/w.bin", kFloats);
  EXPECT_THAT(error({{"location", "none.bin"}}),
              HasSubstr("'none.bin': cannot be opened: No such file or directory"));
  EXPECT_THAT(error({}), HasSubstr("external data '': has no name"));
  EXPECT_THAT(error({{"location", "."}}), HasSubstr("is a directory"));
  EXPECT_THAT(error({{"location", "w.bin"}, {"offset", "12"}}),
              HasSubstr("the file has 16 bytes, 8 at offset 12 needed"));
  EXPECT_THAT(error({{"location", "w.bin"}, {"offset", "18446744073709551615"}}),
              HasSubstr("the file has 16 bytes"));
  EXPECT_THAT(error({{"location", "w.bin"}, {"length", "4"}}),
              HasSubstr("length 4 found, 8 needed for float[2]"));
  EXPECT_THAT(error({{"location", "w.bin"}, {"offset", "-1"}}), HasSubstr("offset is '-1', a number needed"));
}

}  // namespace
}  // namespace podium::importer
