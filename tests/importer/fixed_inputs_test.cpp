#include "importer/fixed_inputs.h"

#include <gtest/gtest.h>

#include "ir/infer.h"
#include "tests/importer/model_proto.h"

namespace podium::importer {
namespace {

const std::string kBranches =
    "g (bool[1] first, float[2] x, int64 n, float[k] open) => (float[2] y) {"
    " a = Exp(x)"
    " y = If(first) <then_branch = t () => (float[2] p) { p = Neg(a) },"
    "                else_branch = e () => (float[2] q) { r = Abs(a) q = Relu(r) }> }";

std::string ops_with(const std::map<std::string, std::vector<double>>& constants) {
  const Model model = import_proto(proto_of(kBranches), {.constants = constants});
  std::string names;
  for (const ir::Op& op : model.graph.ops) names += std::string(op.spec->name) + " ";
  return names;
}

TEST(FixedInputs, TakeTheBranchThatTheyDecide) {
  EXPECT_EQ(ops_with({{"first", {1}}}), "Exp Neg Identity ");
  EXPECT_EQ(ops_with({{"first", {0}}}), "Exp Abs Relu Identity ");
  EXPECT_EQ(ops_with({{"n", {7}}}), "Exp If ");
}

TEST(FixedInputs, LeaveAnIfWhoseConditionIsNoTruthToWhoeverInfersTypes) {
  const std::string branches =
      "g (float first, float[2] x) => (float[2] y) {"
      " y = If(first) <then_branch = t () => (float[2] p) { p = Neg(x) },"
      "                else_branch = e () => (float[2] q) { q = Abs(x) }> }";
  Model model = import_proto(proto_of(branches), {.constants = {{"first", {1}}}});
  ASSERT_EQ(model.graph.ops.size(), 1U);
  try {
    ir::infer(model.graph);
    FAIL() << "a number was taken for a condition";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("bool"), std::string::npos) << error.what();
  }
}

TEST(FixedInputs, AreInputsNoLonger) {
  const Model model = import_proto(proto_of(kBranches), {.constants = {{"n", {7}}, {"x", {0.5}}}});
  ASSERT_EQ(model.graph.inputs.size(), 2U);
  EXPECT_EQ(model.graph[model.graph.inputs[0]].name, "first");
  const ir::Op& exp = model.graph.ops.at(0);
  const ir::Tensor& x = *model.graph[exp.inputs[0]].constant;
  EXPECT_EQ(x.data<float>()[1], 0.5F);  // one number stands for all
}

TEST(FixedInputs, TakeTheLastNumbersThatTheirTypeHas) {
  const Model model = import_proto(
      proto_of("g (int8[2] a, int64 b, float[2] c) => (int8[2] d, int64 e, float[2] f) {"
               " d = Neg(a) e = Neg(b) f = Neg(c) }"),
      {.constants = {
           {"a", {-128, 127}}, {"b", {-9007199254740991.0}}, {"c", {-INFINITY, 3.4028234663852886e38}}}});
  const auto constant = [&](std::size_t op) {
    return *model.graph[model.graph.ops.at(op).inputs[0]].constant;
  };
  EXPECT_EQ(constant(0).data<std::int8_t>()[0], -128);
  EXPECT_EQ(constant(0).data<std::int8_t>()[1], 127);
  EXPECT_EQ(constant(1).data<std::int64_t>()[0], -9007199254740991);
  EXPECT_EQ(constant(2).data<float>()[0], -INFINITY);
  EXPECT_EQ(constant(2).data<float>()[1], std::numeric_limits<float>::max());
}

TEST(FixedInputs, KeepTheirOpsWithTheNodesThatTheseComeFrom) {
  const Model model = import_proto(proto_of(kBranches), {.constants = {{"first", {0}}}});
  EXPECT_EQ(model.nodes_of_ops, (std::vector<std::int32_t>{0, 1, 1, 1}));
}

TEST(FixedInputs, RefuseWhatDoesNotFit) {
  const onnx::ModelProto proto = proto_of(kBranches);
  EXPECT_EQ(error_of(proto, {.constants = {{"firs", {1}}}}),
            "there is no input 'firs', the nearest is 'first'");
  EXPECT_EQ(error_of(proto, {.constants = {{"first", {2}}}}),
            "input 'first' as a constant: 2 found, numbers of bool needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"n", {1.5}}}}),
            "input 'n' as a constant: 1.5 found, numbers of int64 needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"n", {1e30}}}}),
            "input 'n' as a constant: 1e+30 found, whole numbers below 2^53 needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"n", {9007199254740993.0}}}}),
            "input 'n' as a constant: 9007199254740992 found, whole numbers below 2^53 needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"n", {INFINITY}}}}),
            "input 'n' as a constant: inf found, numbers of int64 needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"x", {1e39}}}}),
            "input 'x' as a constant: 1e+39 found, numbers of float needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"x", {1, 2, 3}}}}),
            "input 'x' as a constant: 3 numbers found, 1 or 2 needed");
  EXPECT_EQ(error_of(proto, {.constants = {{"open", {1}}}}),
            "input 'open' cannot be a constant: float[k] found, a tensor of known sizes needed (--dim)");
  EXPECT_EQ(error_of(proto_of("g (int8[1048576,65] x) => (int8[1048576,65] y) { y = Identity(x) }"),
                     {.constants = {{"x", {0}}}}),
            "input 'x' as a constant: int8[1048576,65] found, at most 64 MiB needed");
}

}  // namespace
}  // namespace podium::importer
