#include "importer/write_model.h"

#include <gmock/gmock.h>
#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

using ::testing::HasSubstr;

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

onnx::ModelProto parsed(const std::string& path) {
  onnx::ModelProto proto;
  IR_CHECK(proto.ParseFromString(contents(path)));
  return proto;
}

void add_weight(onnx::ModelProto& proto, const std::string& name, const std::string& location) {
  auto& tensor = *proto.mutable_graph()->add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(1);
  tensor.add_dims(1);
  if (location.empty()) return tensor.add_float_data(1);
  tensor.set_data_location(onnx::TensorProto::EXTERNAL);
  auto& entry = *tensor.add_external_data();
  entry.set_key("location");
  entry.set_value(location);
}

onnx::ModelProto sample(const std::string& location = "") {
  onnx::ModelProto proto = proto_of("g (float[1] x) => (float[1] z) { y = Add(x, w)\n z = Mul(y, v) }");
  proto.mutable_graph()->mutable_node(0)->set_name("add");
  add_weight(proto, "w", location);
  add_weight(proto, "v", location);
  return proto;
}

TEST(WriteModel, GivesBackWhatItReadWithFieldsThatNobodyKnows) {
  const Folder folder;
  onnx::ModelProto proto = sample();
  auto& node = *proto.mutable_graph()->mutable_node(0);
  node.GetReflection()->MutableUnknownFields(&node)->AddLengthDelimited(77, "from the future");
  proto.GetReflection()->MutableUnknownFields(&proto)->AddVarint(99, 5);
  write_model(import_proto(proto), folder.file("out.onnx"));
  EXPECT_EQ(contents(folder.file("out.onnx")), proto.SerializeAsString());
}

TEST(WriteModel, SetsReplacesAndClearsAttributes) {
  const Folder folder;
  const std::string first = folder.file("first.onnx");
  const std::string second = folder.file("second.onnx");
  const ir::Attribute stage{"__pipeline_stage", std::int64_t{2}};
  write_model(import_proto(sample()), first,
              {.nodes = {{.node = {{.node = "add"}}, .set = {stage, {"__ipu_number", std::int64_t{1}}}}}});
  EXPECT_EQ(parsed(first).graph().node(0).attribute_size(), 2);
  const ir::Attribute later{"__pipeline_stage", std::int64_t{3}};
  write_model(
      import_model(first), second,
      {.nodes = {{.node = {{.node = std::size_t{0}}}, .clear = {"__ipu_number", "none"}, .set = {later}}}});
  const ir::Graph graph = import_model(second).graph;
  EXPECT_EQ(print(graph).substr(0, 200).find("__ipu_number"), std::string::npos);
  EXPECT_EQ(ir::attribute<std::int64_t>(graph.ops[0], "__pipeline_stage"), 3);
}

TEST(WriteModel, ReachesNodesOfBodies) {
  const Folder folder;
  const onnx::ModelProto proto = proto_of(
      "g (bool c, float[2] x) => (float[2] y) {"
      " y = If(c) <then_branch = t () => (float[2] r) { r = Neg(x) }, else_branch = e () => (float[2] s) { s "
      "= Abs(x) }> }");
  const NodeEdit edit{.node = {{.node = std::size_t{0}}, {.node = std::size_t{0}, .body = "else_branch"}},
                      .set = {{"__ipu_number", std::int64_t{4}}}};
  write_model(import_proto(proto), folder.file("out.onnx"), {.nodes = {edit}});
  EXPECT_EQ(parsed(folder.file("out.onnx")).graph().node(0).attribute(1).g().node(0).attribute(0).i(), 4);
}

TEST(WriteModel, ReplacesInitializers) {
  const Folder folder;
  write_model(import_proto(sample()), folder.file("out.onnx"),
              {.initializers = {{"w", ir::Tensor::of<float>({1}, {9})}}});
  const onnx::ModelProto out = parsed(folder.file("out.onnx"));
  EXPECT_EQ(out.graph().initializer(0).float_data_size(), 0);
  EXPECT_EQ(out.graph().initializer(0).raw_data().size(), 4U);
  EXPECT_EQ(out.graph().initializer(1).float_data(0), 1);
}

TEST(WriteModel, RefusesEditsOfWhatIsNotThere) {
  const Folder folder;
  const Model model = import_proto(sample());
  const std::string path = folder.file("out.onnx");
  const auto error = [&](const ModelEdits& edits) {
    return testing::refusal([&] { write_model(model, path, edits); });
  };
  EXPECT_EQ(error({.nodes = {{.node = {{.node = "none"}}}}}),
            path + ": node 'none': there is none of that name");
  EXPECT_EQ(error({.nodes = {{.node = {{.node = std::size_t{2}}}}}}),
            path + ": node 2 found in an edit, the graph has 2 nodes");
  EXPECT_EQ(error({.nodes = {{.node = {{.node = "add"}, {.node = "a", .body = "body"}}}}}),
            path + ": node 'add' has no body 'body'");
  EXPECT_EQ(error({.initializers = {{"u", ir::Tensor::scalar(1.F)}}}),
            path + ": initializer 'u': there is none of that name");
  EXPECT_EQ(error({.initializers = {{"w", ir::Tensor::scalar(1.F)}}}),
            path + ": initializer 'w': float[] found, float[1] needed");
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(WriteModel, LeavesNothingWhereItCannotWrite) {
  const Folder folder;
  const Model model = import_proto(sample());
  EXPECT_THAT(testing::refusal([&] { write_model(model, folder.file("none/out.onnx")); }),
              HasSubstr("none/out.onnx: cannot be written: No such file or directory"));
  EXPECT_THAT(testing::refusal([&] { write_model(model, folder.path()); }),
              HasSubstr("is a directory, a file needed"));
}

TEST(WriteModel, PutsExtraInitializersBesideAModelThatWouldBeTooLarge) {
  const Folder folder;
  ModelEdits edits{.initializers = {{"w", ir::Tensor::of<float>({1}, {9})}},
                   .extra_initializers = {{"Accl___w", ir::Tensor::of<float>({3}, {1, 2, 3})}}};
  const Model model = import_proto(sample());
  const std::string path = folder.file("out.onnx");
  write_model(model, path, edits);
  EXPECT_FALSE(std::filesystem::exists(path + ".data"));
  edits.most_inside = 16;
  write_model(model, path, edits);
  EXPECT_EQ(std::filesystem::file_size(path + ".data"), 12U);
  EXPECT_EQ(parsed(path).graph().initializer(0).raw_data().size(), 4U) << "what was inside stays there";
  const ir::Graph graph = import_model(path).graph;
  const auto state = std::find_if(graph.values.begin(), graph.values.end(),
                                  [](const ir::Value& value) { return value.name == "Accl___w"; });
  ASSERT_NE(state, graph.values.end());
  EXPECT_THAT(state->constant->values<float>(), ::testing::ElementsAre(1, 2, 3));
  EXPECT_EQ(parsed(path).graph().initializer_size(), 3);
}

class WriteExternal : public ::testing::Test {
 protected:
  WriteExternal() {
    const float value = 5;
    folder_.write("in/w.bin", {reinterpret_cast<const char*>(&value), 4});
    model_ = import_model(folder_.write("in/m.onnx", sample("w.bin").SerializeAsString()));
  }
  static double weight(const std::string& path, std::size_t op) {
    const ir::Graph graph = import_model(path).graph;
    return graph[graph.ops[op].inputs[1]].constant->to_number();
  }

  Folder folder_;
  Model model_;
};

TEST_F(WriteExternal, DataStayWhereTheyAreInTheSameFolder) {
  write_model(model_, folder_.file("in/out.onnx"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("in/out.onnx.data")));
  EXPECT_EQ(weight(folder_.file("in/out.onnx"), 1), 5);
}

TEST_F(WriteExternal, DataGoAlongToAnotherFolderOnce) {
  std::filesystem::create_directory(folder_.file("other"));
  write_model(model_, folder_.file("other/out.onnx"));
  std::filesystem::remove_all(folder_.file("in"));
  EXPECT_EQ(weight(folder_.file("other/out.onnx"), 0), 5);
  EXPECT_EQ(weight(folder_.file("other/out.onnx"), 1), 5);
  EXPECT_EQ(std::filesystem::file_size(folder_.file("other/out.onnx.data")), 4U)
      << "both weights share the data";
}

TEST_F(WriteExternal, AReplacedWeightLeavesTheOldFileAlone) {
  const ModelEdits edits{.initializers = {{"w", ir::Tensor::of<float>({1}, {6})}}};
  write_model(model_, folder_.file("in/m.onnx"), edits);
  EXPECT_EQ(weight(folder_.file("in/m.onnx"), 0), 6);
  EXPECT_EQ(weight(folder_.file("in/m.onnx"), 1), 5);
  EXPECT_EQ(std::filesystem::file_size(folder_.file("in/w.bin")), 4U);
}

// The first model's data are at their place, whole, until the second model is at its.
TEST_F(WriteExternal, AModelAndItsDataGiveWayTogether) {
  const std::string path = folder_.file("out/m.onnx");
  std::filesystem::create_directory(folder_.file("out"));
  const auto write = [&](float w) {
    write_model(model_, path, {.initializers = {{"w", ir::Tensor::of<float>({1}, {w})}}});
    return weight(path, 0);
  };
  EXPECT_EQ(write(6), 6);
  const std::string first = contents(path);
  const std::string of_first = contents(path + ".data");
  ASSERT_NE(of_first, "");
  std::filesystem::create_hard_link(path + ".data", folder_.file("out/kept"));
  EXPECT_EQ(write(7), 7);
  EXPECT_THAT(contents(path), HasSubstr("m.onnx.data2"));
  EXPECT_EQ(contents(folder_.file("out/kept")), of_first);
  EXPECT_FALSE(std::filesystem::exists(path + ".data"));
  EXPECT_EQ(write(8), 8);
  EXPECT_THAT(contents(path), ::testing::Not(HasSubstr("m.onnx.data2")));
  EXPECT_FALSE(std::filesystem::exists(path + ".data2"));
}

TEST_F(WriteExternal, DataOfOthersStay) {
  const std::string path = folder_.file("out/m.onnx");
  std::filesystem::create_directory(folder_.file("out"));
  folder_.write("out/m.onnx.data", "of somebody");
  folder_.write("out/m.onnx.data7", "of somebody, too");
  for (const float w : {6.0F, 7.0F, 8.0F}) {
    write_model(model_, path, {.initializers = {{"w", ir::Tensor::of<float>({1}, {w})}}});
    EXPECT_EQ(weight(path, 0), w);
  }
  EXPECT_EQ(contents(path + ".data"), "of somebody");
  EXPECT_EQ(contents(path + ".data7"), "of somebody, too");
}

// The copy beside it reads the same data: annotations alone need no others.
TEST_F(WriteExternal, DataThatAnotherModelReadsStay) {
  const std::string path = folder_.file("out/m.onnx");
  std::filesystem::create_directory(folder_.file("out"));
  write_model(model_, path, {.initializers = {{"w", ir::Tensor::of<float>({1}, {6})}}});
  write_model(import_model(path), folder_.file("out/placed.onnx"));
  write_model(model_, path, {.initializers = {{"w", ir::Tensor::of<float>({1}, {7})}}});
  EXPECT_EQ(weight(path, 0), 7);
  EXPECT_EQ(weight(folder_.file("out/placed.onnx"), 0), 6);
}

TEST_F(WriteExternal, AModelDoesNotChooseWhatIsRemoved) {
  const std::string path = folder_.file("out/m.onnx");
  std::filesystem::create_directory(folder_.file("out"));
  folder_.write("out/notes.txt", "of somebody");
  write_model(model_, path, {.initializers = {{"w", ir::Tensor::of<float>({1}, {6})}}});
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(contents(path)));
  ASSERT_EQ(proto.metadata_props_size(), 1);
  proto.mutable_metadata_props(0)->set_value("notes.txt");
  folder_.write("out/m.onnx", proto.SerializeAsString());
  write_model(model_, path, {.initializers = {{"w", ir::Tensor::of<float>({1}, {7})}}});
  EXPECT_EQ(weight(path, 0), 7);
  EXPECT_EQ(contents(folder_.file("out/notes.txt")), "of somebody");
}

}  // namespace
}  // namespace podium::importer
