#include "executor/compare/rounding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "ir/infer.h"
#include "ir/passes/set_precision.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::compare {
namespace {

using ir::Datum;
using testing::graph_of;
using testing::list;
using testing::tensor;
using testing::values;

ir::Graph inferred(const std::string& text) {
  ir::Graph graph = graph_of(text);
  ir::infer(graph);
  return graph;
}

std::int64_t terms_of(const std::string& text) {
  const ir::Graph graph = inferred(text);
  return summed_terms(ir::TypedOp(graph, graph.ops[0]));
}

TEST(SummedTerms, AreTheElementsOfTheInnerDimension) {
  EXPECT_EQ(terms_of("g (float[2,5] x, float[5,3] w) => (float[2,3] y) { y = MatMul (x, w) }"), 5);
  EXPECT_EQ(terms_of("g (float[2,5] x) => (float y) { y = ReduceSum <keepdims=0> (x) }"), 10);
  EXPECT_EQ(terms_of("g (float[2,5] x) => (float[2,5] y) { y = Tanh (x) }"), 1);
}

std::vector<double> bounds_of(const Sum& sum, const ir::Tensor& magnitudes) {
  return values<double>(*bound_of_sum(sum, magnitudes));
}

TEST(BoundOfSum, GrowsWithTermsAndMagnitudes) {
  const double unit = std::ldexp(1, -24);
  EXPECT_NEAR(bounds_of({.terms = 9}, list<float>({1}))[0], 20 * unit, unit * 1e-6);
  EXPECT_NEAR(bounds_of({.terms = 9}, list<float>({8}))[0], 160 * unit, unit * 1e-6);
  EXPECT_NEAR(bounds_of({.terms = 19}, list<float>({1}))[0], 40 * unit, unit * 1e-6);
}

TEST(BoundOfSum, CountsTheRoundingOfPartsThatAreHalves) {
  const ir::Tensor half = ir::in_precision(list<float>({1}), ir::DataType::Float16);
  EXPECT_GT(bounds_of({.terms = 4, .parts = 3}, half)[0], 8 * std::ldexp(1, -11));
}

// A product below the smallest float is none, or one step; alpha makes a step large.
TEST(BoundOfSum, HoldsWhatAFactorMakesOfProductsThatAreLost) {
  const double step = std::ldexp(1, -149);
  EXPECT_GE(bounds_of({.terms = 1, .factor = -1e30}, list<float>({0}))[0], 1e30 * step);
  EXPECT_LT(bounds_of({.terms = 1, .factor = 1e-30}, list<float>({0}))[0], 10 * step);
}

TEST(BoundOfSum, IsNothingForWholeNumbers) {
  EXPECT_FALSE(bound_of_sum({.terms = 4}, list<std::int64_t>({1})));
}

// Sums of the same numbers in many orders, some of which cancel.
TEST(BoundOfSum, HoldsTheSumsOfRandomOrders) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> terms(3 + random() % 60);
    for (float& term : terms)
      term = std::ldexp(static_cast<float>(random() % 2001) - 1000, static_cast<int>(random() % 20));
    const auto sum = [&] { return std::accumulate(terms.begin(), terms.end(), 0.0F); };
    const float in_order = sum();
    float magnitudes = 0;
    for (float term : terms) magnitudes += std::fabs(term);
    std::shuffle(terms.begin(), terms.end(), random);
    EXPECT_LE(std::fabs(in_order - sum()),
              bounds_of({.terms = std::ssize(terms)}, list<float>({magnitudes}))[0]);
  }
}

std::vector<float> sums_of(const std::string& text, const Operands& operands) {
  const ir::Graph graph = inferred(text);
  Operands sizes;
  for (const Datum& operand : operands) sizes.push_back(magnitude(operand));
  return values<float>(sums_of_magnitudes(PlainOps(graph, {}), graph.ops[0], sizes)[0]);
}

TEST(SumsOfMagnitudes, CountWhatCancels) {
  EXPECT_EQ(sums_of("g (float[1,2] x, float[2,1] w) => (float[1,1] y) { y = MatMul (x, w) }",
                    {tensor<float>({1, 2}, {3, -4}), tensor<float>({2, 1}, {4, 3})}),
            std::vector<float>({24}));
  EXPECT_EQ(sums_of("g (float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }",
                    {list<float>({1, -2}), list<float>({1, -2})}),
            std::vector<float>({2, 4}));
  EXPECT_EQ(sums_of("g (float[1,1] a, float[1,1] b, float[1,1] c) => (float[1,1] y) "
                    "{ y = Gemm <alpha = -2.0, beta = -1.0> (a, b, c) }",
                    {tensor<float>({1, 1}, {3}), tensor<float>({1, 1}, {-1}), tensor<float>({1, 1}, {6})}),
            std::vector<float>({12}));
}

TEST(SumsOfMagnitudes, AreInfiniteWhereThatOverflowsWhichAMeanDivides) {
  const std::string loss =
      "g (float[2,2] x, int64[2] t, float[2] w) => (float y) { y = NegativeLogLikelihoodLoss (x, t, w) }";
  const Datum scores = tensor<float>({2, 2}, {-4, -4, -4, -4});
  const Datum classes = ir::Tensor::ints({0, 1});
  EXPECT_EQ(sums_of(loss, {scores, classes, list<float>({1, 3})}), std::vector<float>({4}));
  EXPECT_EQ(sums_of(loss, {scores, classes, list<float>({1e38F, 1e38F})}),
            std::vector<float>({testing::kInfinity}));
}

TEST(SumsOfMagnitudes, TakeTheMagnitudesOfConstantsToo) {
  EXPECT_EQ(sums_of("g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {4, -3}> { y = MatMul (x, w) }",
                    {tensor<float>({1, 2}, {3, 4}), tensor<float>({2, 1}, {4, -3})}),
            std::vector<float>({24}));
}

// Of numbers that are all equal a norm makes what rounding leaves of them.
TEST(BoundsOfSteps, HoldANormOfEqualNumbers) {
  const ir::Graph graph = inferred(
      "g (float[120] x, float[120] w) => (float[120] y) { y = LayerNormalization <axis = 0> (x, w) }");
  const Datum x = list<float>(std::vector<float>(120, 1e9F));
  const Datum w = list<float>(std::vector<float>(120, 1));
  const PlainOps ops(graph, {});
  const std::vector<Datum> made = ops.run_once(graph.ops[0], {x, w});
  const ir::Tensor bound = *bounds_of_steps(ops, graph.ops[0], {x, w}, made, 120)[0];
  for (const double limit : bound.values<double>()) EXPECT_GT(limit, 2);
}

// Their variance is what rounding leaves, or none.
TEST(BoundsOfSteps, HoldTheDeviationOfEqualNumbers) {
  const ir::Graph graph = inferred(
      "g (float[12] x, float[12] w) => (float[12] y, float[1] m, float[1] d) { "
      "y, m, d = LayerNormalization <axis = 0> (x, w) }");
  const PlainOps ops(graph, {});
  const Datum x = list<float>(std::vector<float>(12, 3e9F + 256));
  const Datum w = list<float>(std::vector<float>(12, 1));
  const std::vector<Datum> made = ops.run_once(graph.ops[0], {x, w});
  const double found = made[2].tensor.data<float>()[0];
  const double none = 1 / std::sqrt(1e-5);
  const double bound = (*bounds_of_steps(ops, graph.ops[0], {x, w}, made, 12)[2]).data<double>()[0];
  EXPECT_GE(bound, std::fabs(none - found)) << found;
}

// One order gives an infinite variance, another one none.
TEST(BoundsOfSteps, AreInfiniteWhereTheSquaresOfANormOverflow) {
  const ir::Graph graph = inferred(
      "g (float[4] x, float[4] w) => (float[4] y, float[1] m, float[1] d) { "
      "y, m, d = LayerNormalization <axis = 0> (x, w) }");
  const PlainOps ops(graph, {});
  const auto bound_at = [&](float number) {
    const Datum x = list<float>({number, 1, 2, 3});
    const Datum w = list<float>(std::vector<float>(4, 1));
    const std::vector<Datum> made = ops.run_once(graph.ops[0], {x, w});
    return (*bounds_of_steps(ops, graph.ops[0], {x, w}, made, 4)[2]).data<double>()[0];
  };
  EXPECT_TRUE(std::isinf(bound_at(1e30F)));
  EXPECT_LT(bound_at(1e3F), 1);
}

// In steps, with the sum of the exponentials in the opposite order.
TEST(BoundsOfSteps, HoldASoftmaxWhoseSumHasAnotherOrder) {
  const ir::Graph graph = inferred("g (float[64] x) => (float[64] y) { y = Softmax (x) }");
  std::mt19937 random(5);
  std::vector<float> numbers(64);
  for (float& number : numbers) number = static_cast<float>(random() % 1000) / 125 - 4;
  const Datum x = list<float>(numbers);
  const PlainOps ops(graph, {});
  const std::vector<Datum> made = ops.run_once(graph.ops[0], {x});
  const ir::Tensor bound = *bounds_of_steps(ops, graph.ops[0], {x}, made, 64)[0];
  float sum = 0;
  for (int i = 64; i-- > 0;) sum += std::exp(numbers[i]);
  for (int i = 0; i < 64; ++i) {
    const float y = std::exp(numbers[i]) / sum;
    EXPECT_LE(std::fabs(y - made[0].tensor.data<float>()[i]), bound.data<double>()[i]) << i;
    EXPECT_LT(bound.data<double>()[i], 1e-2 * y) << i;
  }
}

}  // namespace
}  // namespace podium::compare
