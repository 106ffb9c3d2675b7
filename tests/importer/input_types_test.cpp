#include "importer/input_types.h"

#include <gtest/gtest.h>

#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

using ir::DataType;
using ir::Type;

ir::Type fed(ir::Dims dims, DataType element = DataType::Float) {
  return Type::tensor(element, std::move(dims));
}

const std::string kTwoInputs =
    "g (float[N,3] a, float[N,M] b) => (float[N] y) { y = Identity(a)\n z = Abs(b) }";

TEST(InputTypes, AFedInputBindsASymbolForAllInputs) {
  const Model model = import_proto(proto_of(kTwoInputs), {.input_types = {{"a", fed({5, 3})}}});
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[0]].type), "float[5,3]");
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[1]].type), "float[5,?]");
}

TEST(InputTypes, TheCallerBindsSymbolsByName) {
  const Model model = import_proto(proto_of(kTwoInputs), {.dims = {{"M", 7}}});
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[1]].type), "float[?,7]");
}

TEST(InputTypes, TheCallerBindsDimensionsWithoutANameByTheirPlace) {
  const onnx::ModelProto proto =
      proto_of("g (float[?,N] a, float[3,?] b) => (float[?,N] y) { y = Identity(a) }");
  const Model model = import_proto(proto, {.dims = {{"a:0", 7}, {"b:1", 2}, {"N", 5}}});
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[0]].type), "float[7,5]");
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[1]].type), "float[3,2]");
  EXPECT_EQ(error_of(proto, {.dims = {{"a:1", 2}}}),
            "dimension 'a:1' is not in the model, the nearest is 'a:0'");
}

TEST(InputTypes, BindsSymbolsInBodies) {
  const Model model = import_proto(proto_of("g (int64 n, bool c, float[N] x) => (float[N] y) {"
                                            " y = Loop(n, c, x) <body = b (int64 i, bool d, float[N] s) =>"
                                            " (bool e, float[N] r) { e = Identity(d)\n r = Relu(s) }> }"),
                                   {.input_types = {{"x", fed({4})}}});
  const auto& body = ir::attribute<ir::Body>(model.graph.ops[0], "body");
  EXPECT_EQ(to_string((*body)[body->inputs[2]].type), "float[4]");
}

TEST(InputTypes, RefusesWhatDoesNotFit) {
  const onnx::ModelProto proto = proto_of(kTwoInputs);
  EXPECT_EQ(error_of(proto, {.input_types = {{"a", fed({5, 4})}}}), "input 'a': dimension 1 is 4, 3 needed");
  EXPECT_EQ(error_of(proto, {.input_types = {{"a", fed({5})}}}),
            "input 'a': float[5] found, float[?,3] needed");
  EXPECT_EQ(error_of(proto, {.input_types = {{"a", fed({5, 3}, DataType::Int64)}}}),
            "input 'a': int64[5,3] found, float[?,3] needed");
  EXPECT_EQ(error_of(proto, {.input_types = {{"a", Type::sequence(fed({5, 3}))}}}),
            "input 'a': sequence(float[5,3]) found, float[?,3] needed");
  EXPECT_EQ(error_of(proto, {.input_types = {{"a", fed({5, 3})}, {"b", fed({6, 1})}}}),
            "input 'b': dimension 0 is 6, 5 needed because input 'a' gives 'N' this value");
  EXPECT_EQ(error_of(proto, {.dims = {{"N", 2}}, .input_types = {{"b", fed({6, 1})}}}),
            "input 'b': dimension 0 is 6, 2 needed because the caller gives 'N' this value");
  EXPECT_EQ(error_of(proto, {.dims = {{"N", -2}}}), "dimension 'N' is -2, 0 or more needed");
}

TEST(InputTypes, NamesTheNearestOfWhatIsNotThere) {
  const onnx::ModelProto proto = proto_of("g (float[batch] pixels) => (float[batch] y) { y = Abs(pixels) }");
  EXPECT_EQ(error_of(proto, {.dims = {{"bach", 2}}}),
            "dimension 'bach' is not in the model, the nearest is 'batch'");
  EXPECT_EQ(error_of(proto, {.input_types = {{"pixel", fed({1})}}}),
            "input 'pixel' is fed, but the model has none of that name, the nearest is 'pixels'");
}

TEST(InputTypes, WhatIsFedCanWinOverWhatIsDeclared) {
  const ImportOptions options{.input_types = {{"a", fed({9})}, {"b", fed({6, 1})}}, .fed_shapes_win = true};
  const Model model = import_proto(proto_of(kTwoInputs), options);
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[0]].type), "float[9]");
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[1]].type), "float[6,1]");
}

TEST(InputTypes, ReadsOptionalSequenceAndMapTypes) {
  onnx::ModelProto proto = proto_of("g (float[N] s, float[2] o, float[3] m) => (float[N] y) { y = Abs(s) }");
  const auto wrap = [&](int input, auto change) {
    auto& type = *proto.mutable_graph()->mutable_input(input)->mutable_type();
    const onnx::TypeProto inner = type;
    change(type, inner);
  };
  wrap(0, [](auto& type, const auto& inner) { *type.mutable_sequence_type()->mutable_elem_type() = inner; });
  wrap(1, [](auto& type, const auto& inner) { *type.mutable_optional_type()->mutable_elem_type() = inner; });
  wrap(2, [](auto& type, const auto& inner) {
    type.mutable_map_type()->set_key_type(8);
    *type.mutable_map_type()->mutable_value_type() = inner;
  });
  const Model model = import_proto(proto, {.dims = {{"N", 6}}});
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[0]].type), "sequence(float[6])");
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[1]].type), "optional(float[2])");
  EXPECT_EQ(to_string(model.graph[model.graph.inputs[2]].type), "map(string,float[3])");
}

}  // namespace
}  // namespace podium::importer
