#include "importer/import.h"

#include <gtest/gtest.h>

#include "tests/importer/model_proto.h"
#include "tests/support/text_model.h"

namespace podium::importer {
namespace {

std::string printed(const std::string& body) { return print(testing::model_of(body).graph); }

TEST(ImportText, ReadsOpsInOrder) {
  EXPECT_EQ(printed("g (float[2] x) => (float[2] y) { y = Relu(x) }"),
            "input x  # float[2]\ny = Relu(x)  # undefined\noutput y\n");
}

TEST(ImportText, ReportsSyntaxInOneLine) {
  const std::string error = testing::refusal([] { import_text("<ir_version: 8>\ng (float x => y { }"); });
  EXPECT_NE(error, "");
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(Import, SortsNodesThatStandInAnyOrder) {
  EXPECT_EQ(printed("g (float[2] x) => (float[2] z) { z = Neg(y)\n y = Relu(w)\n w = Abs(x) }"),
            "input x  # float[2]\nw = Abs(x)  # undefined\ny = Relu(w)  # undefined\nz = Neg(y)  # "
            "undefined\noutput z\n");
}

TEST(Import, SortsByWhatBodiesRead) {
  const std::string text = printed(
      "g (bool c, float[2] x) => (float[2] z) {"
      " z = If(c) <then_branch = t () => (float[2] r) { r = Neg(late) },"
      "           else_branch = e () => (float[2] s) { s = Abs(late) }>\n"
      " late = Relu(x) }");
  EXPECT_LT(text.find("late = Relu"), text.find("z = If(c, late)"));
}

TEST(Import, ABodyMayShadowANameThatALaterNodeProduces) {
  const std::string text = printed(
      "g (bool c, float[2] x) => (float[2] z, float[2] r) {"
      " z = If(c) <then_branch = t () => (float[2] r) { r = Neg(x) },"
      "           else_branch = e () => (float[2] s) { s = Abs(x) }>\n"
      " r = Relu(z) }");
  EXPECT_NE(text.find("r = Relu(z)"), std::string::npos);
}

TEST(Import, NamesTheNodesOfACircle) {
  const onnx::ModelProto proto =
      proto_of("g (float[2] x) => (float[2] y) { y = Add(x, b)\n a = Neg(y)\n b = Abs(a) }");
  EXPECT_EQ(error_of(proto),
            "node 'y' (Add), node 'b' (Abs), node 'a' (Neg) in a circle: each reads an output of the next");
}

TEST(Import, ANodeThatReadsItselfIsACircle) {
  EXPECT_EQ(error_of(proto_of("g (float[2] x) => (float[2] y) { y = Add(x, y) }")),
            "node 'y' (Add) in a circle: each reads an output of the next");
}

TEST(Import, TurnsEveryFormOfConstantIntoAValue) {
  const Model model = testing::model_of(
      "g () => (int64 a, int64[2] b, float c, float[2] d, string e, string[2] f, float[1] h) {"
      " a = Constant<value_int = 3>() b = Constant<value_ints = [4, 5]>()"
      " c = Constant<value_float = 0.5>() d = Constant<value_floats = [1.5, 2.5]>()"
      " e = Constant<value_string = \"hi\">() f = Constant<value_strings = [\"x\", \"y\"]>()"
      " h = Constant<value = float[1] {7}>() }");
  EXPECT_TRUE(model.graph.ops.empty());
  std::vector<ir::Tensor> values;
  for (ir::ValueId id : model.graph.outputs) values.push_back(model.graph[id].constant.value());
  EXPECT_TRUE(identical(values[0], ir::Tensor::scalar<std::int64_t>(3)));
  EXPECT_TRUE(identical(values[1], ir::Tensor::ints({4, 5})));
  EXPECT_TRUE(identical(values[2], ir::Tensor::scalar(0.5F)));
  EXPECT_TRUE(identical(values[3], ir::Tensor::of<float>({2}, {1.5F, 2.5F})));
  EXPECT_TRUE(identical(values[4], ir::Tensor::scalar<std::string>("hi")));
  EXPECT_TRUE(identical(values[5], ir::Tensor::of<std::string>({2}, {"x", "y"})));
  EXPECT_TRUE(identical(values[6], ir::Tensor::of<float>({1}, {7})));
}

TEST(Import, RefusesAConstantWithTwoValues) {
  EXPECT_EQ(error_of(proto_of("g () => (int64 a) { a = Constant<value_int = 3, value_float = 1.0>() }")),
            "node 'a' (Constant): 2 values and 1 outputs found, one of each needed");
}

TEST(Import, SparseInitializersAndConstantsBecomeDense) {
  onnx::ModelProto proto =
      proto_of("g () => (float[2,2] y, float[3] z) { y = Identity(s)\n z = Constant<value_int = 1>() }");
  auto& sparse = *proto.mutable_graph()->add_sparse_initializer();
  sparse.mutable_values()->set_name("s");
  sparse.mutable_values()->set_data_type(1);
  sparse.mutable_values()->add_dims(1);
  sparse.mutable_values()->add_float_data(5);
  sparse.mutable_indices()->set_data_type(7);
  for (int i : {1, 2}) sparse.mutable_indices()->add_dims(i);
  for (int i : {1, 0}) sparse.mutable_indices()->add_int64_data(i);
  for (int i : {2, 2}) sparse.add_dims(i);
  auto& attribute = *proto.mutable_graph()->mutable_node(1)->mutable_attribute(0);
  attribute.Clear();
  attribute.set_name("sparse_value");
  attribute.set_type(onnx::AttributeProto::SPARSE_TENSOR);
  *attribute.mutable_sparse_tensor() = sparse;
  auto& flat = *attribute.mutable_sparse_tensor();
  flat.clear_dims();
  flat.add_dims(3);
  flat.mutable_indices()->clear_dims();
  flat.mutable_indices()->add_dims(1);
  flat.mutable_indices()->clear_int64_data();
  flat.mutable_indices()->add_int64_data(2);
  const Model model = import_proto(proto);
  EXPECT_TRUE(identical(*model.graph[model.graph.ops[0].inputs[0]].constant,
                        ir::Tensor::of<float>({2, 2}, {0, 0, 5, 0})));
  EXPECT_TRUE(
      identical(*model.graph[model.graph.outputs[1]].constant, ir::Tensor::of<float>({3}, {0, 0, 5})));
  flat.mutable_indices()->set_int64_data(0, 3);
  EXPECT_EQ(
      error_of(proto),
      "node 'z' (Constant): attribute 'sparse_value': sparse tensor 's': sparse index 3 is outside [0, 3)");
}

TEST(Import, AnInitializerIsTheDefaultOfItsInput) {
  const onnx::ModelProto proto = [] {
    onnx::ModelProto made = proto_of("g (float[2] w, float[2] x) => (float[2] y) { y = Add(x, w) }");
    auto& tensor = *made.mutable_graph()->add_initializer();
    tensor.set_name("w");
    tensor.set_data_type(1);
    tensor.add_dims(2);
    for (float f : {1.F, 2.F}) tensor.add_float_data(f);
    return made;
  }();
  EXPECT_EQ(print(import_proto(proto).graph),
            "input x  # float[2]\nconstant w  # float[2]\ny = Add(x, w)  # undefined\noutput y\n");
  const ImportOptions fed{.input_types = {{"w", ir::Type::tensor(ir::DataType::Float, {2})}}};
  EXPECT_EQ(print(import_proto(proto, fed).graph),
            "input x  # float[2]\ninput w  # float[2]\ny = Add(x, w)  # undefined\noutput y\n");
}

TEST(Import, KeepsAnnotationsAndMetadata) {
  onnx::ModelProto proto =
      proto_of("g (float[2] x) => (float[2] y) { y = Relu <__ipu_number = 3, virtualGraph = 1> (x) }");
  auto& entry = *proto.add_metadata_props();
  entry.set_key("author");
  entry.set_value("me");
  const Model model = import_proto(proto);
  EXPECT_EQ(ir::attribute<std::int64_t>(model.graph.ops[0], "__ipu_number"), 3);
  EXPECT_EQ(ir::attribute<std::int64_t>(model.graph.ops[0], "virtualGraph"), 1);
  EXPECT_EQ(model.info.metadata.at("author"), "me");
  EXPECT_EQ(model.info.opsets.at(""), 17);
  EXPECT_EQ(model.nodes_of_ops, std::vector<std::int32_t>{0});
}

TEST(Import, ReadsAttributesWithoutAType) {
  onnx::ModelProto proto =
      proto_of("g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 0]> (x) }");
  proto.mutable_graph()->mutable_node(0)->mutable_attribute(0)->clear_type();
  EXPECT_EQ(ir::attribute<ir::IntList>(import_proto(proto).graph.ops[0], "perm"), (ir::IntList{1, 0}));
}

TEST(Import, TenThousandNodesTakeNoTime) {
  onnx::ModelProto proto = proto_of("g (float[2] x) => (float[2] v9999) { v0 = Relu(x) }");
  // Backwards, so that sorting has to do its worst.
  proto.mutable_graph()->clear_node();
  for (int i = 9999; i >= 0; --i) {
    auto& node = *proto.mutable_graph()->add_node();
    node.set_op_type("Relu");
    node.add_input(i == 0 ? "x" : fmt::format("v{}", i - 1));
    node.add_output(fmt::format("v{}", i));
  }
  const Model model = import_proto(proto);
  EXPECT_EQ(model.graph.ops.size(), 10000U);
  EXPECT_EQ(model.graph[model.graph.ops[9999].outputs[0]].name, "v9999");
}

}  // namespace
}  // namespace podium::importer
