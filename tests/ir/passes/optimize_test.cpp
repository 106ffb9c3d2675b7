#include "ir/passes/optimize.h"

#include <gtest/gtest.h>

#include "executor/kernels/tools/kernel.h"
#include "importer/import.h"
#include "ir/builder.h"
#include "ir/infer.h"
#include "tests/support/run_text.h"

namespace podium::ir {
namespace {

Graph optimized(const std::string& body, int opset = 28) {
  Graph graph = importer::import_text(testing::model_text(body, opset)).graph;
  optimize(graph, {.evaluate = kernels::evaluate});
  verify(graph);
  return graph;
}

TEST(Optimize, ShapeArithmeticGoesAway) {
  const Graph graph = optimized(
      "g (float[2,3,4] x) => (float[2,12] y) <int64[1] rest = {-1}, int64[1] i = {0}> {"
      "s = Shape(x) n = Gather(s, i) t = Concat<axis = 0>(n, rest) r = Reshape(x, t) y = Relu(r) }");
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_TRUE(graph.ops[0].is("Reshape"));
  EXPECT_EQ(to_string(graph[graph.ops[0].outputs[0]].type), "float[2,12]");
}

TEST(Optimize, AnOldSoftmaxOfAMatrixIsOneOp) {
  const Graph graph = optimized("g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }", 9);
  EXPECT_EQ(graph.ops.size(), 1U);
  EXPECT_TRUE(graph.ops[0].is("Softmax"));
}

TEST(Optimize, WhatNoOutputNeedsMayBeWrong) {
  const Graph graph = optimized("g (float[2] x, float[3] z) => (float[2] y) { bad = Add(x, z) y = Relu(x) }");
  EXPECT_EQ(graph.ops.size(), 1U);
}

TEST(Optimize, AFoldedOutputKeepsItsName) {
  const Graph graph = optimized("g () => (float[2] y) <float[2] k = {1, 2}> { y = Neg(k) }");
  EXPECT_TRUE(graph.ops.empty());
  EXPECT_EQ(graph[graph.outputs[0]].name, "y");
}

// The masks of two layers: made before the run, each would be a constant too large to be compared.
TEST(Optimize, MakesALargeConstantOnce) {
  const Graph graph = optimized(
      "g (float[1200, 1200] x) => (float[1200, 1200] y, float[1200, 1200] z) <int64 zero = {0}, int64 one = "
      "{1}, int64 count = {1200}, int64[2] column = {1200, 1}> { a = Range(zero, count, one) "
      "b = Range(zero, count, one) c = Reshape(a, column) d = Reshape(b, column) m = LessOrEqual(a, c) "
      "n = LessOrEqual(b, d) y = Where(m, x, x) z = Where(n, x, x) }");
  ASSERT_EQ(graph.ops.size(), 2U);
  EXPECT_TRUE(graph.is_constant(graph.ops[0].inputs[0]));
  EXPECT_EQ(graph.ops[0].inputs[0], graph.ops[1].inputs[0]);
}

TEST(Optimize, TakesManyOps) {
  Graph graph;
  Builder builder(graph);
  ValueId value = builder.input("x", Type::tensor(DataType::Float, {2}));
  for (int i = 0; i < 10000; ++i) value = builder.op(i % 2 == 0 ? "Identity" : "Neg", {value});
  builder.output(value);
  EXPECT_TRUE(optimize(graph, {}));
  EXPECT_EQ(graph.ops.size(), 5000U);
}

}  // namespace
}  // namespace podium::ir
