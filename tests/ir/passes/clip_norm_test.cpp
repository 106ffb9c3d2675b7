#include "ir/passes/clip_norm.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/passes/make_training.h"
#include "tests/support/graph_equations.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

Graph clipped(std::vector<ClipNorm> groups, const Contributions& contributions = {}) {
  Graph graph = testing::graph_of(
      "g (float[2] x) => (float loss) <float[2] v = {1, 2}, float[2] w = {1, 2}> {\n"
      "  p = Mul(v, x)\n  q = Mul(p, w)\n  loss = ReduceSum <keepdims = 0> (q)\n}");
  TrainingRequest request{.loss = "loss", .contributions = contributions};
  request.weights = take_weights(graph);
  request.optimizer.clip_norms = std::move(groups);
  return make_training(std::move(graph), request).graph;
}

TEST(ClipNorm, ScalesAllGradientsByTheLengthOfAll) {
  const Graph graph = clipped({{.max_norm = 3}});
  EXPECT_EQ(testing::equation_of(graph, "GlobalNorm___0"),
            "Mul(Sqrt(Sum(ReduceSumSquare(Gradient___v), ReduceSumSquare(Gradient___w))), 1)");
  EXPECT_EQ(testing::equations_of(graph, 1),
            "outer: Sub(v, Mul(Mul(Gradient___v, Div(3, Max(3, GlobalNorm___0))), 0.1))\n"
            "outer: Sub(w, Mul(Mul(Gradient___w, Div(3, Max(3, GlobalNorm___0))), 0.1))\n");
}

TEST(ClipNorm, MeasuresEachGroupForItself) {
  const Graph graph =
      clipped({{.max_norm = 3, .weights = {"v"}}, {.max_norm = 4, .weights = {"w"}}}, {.accumulation = 2});
  EXPECT_EQ(testing::equation_of(graph, "GlobalNorm___0"), "Mul(Sqrt(ReduceSumSquare(Accum___v)), 1)");
  EXPECT_EQ(testing::equation_of(graph, "GlobalNorm___1"), "Mul(Sqrt(ReduceSumSquare(Accum___w)), 1)");
  EXPECT_EQ(testing::equations_of(graph, 5),
            "outer: Sub(v, Mul(Mul(Accum___v, Div(3, Max(3, GlobalNorm___0))), 0.1))\n"
            "outer: Sub(w, Mul(Mul(Accum___w, Div(4, Max(4, GlobalNorm___1))), 0.1))\n");
}

TEST(ClipNorm, OfInfinityMeasuresAlone) {
  const Graph graph = clipped({{.max_norm = std::numeric_limits<double>::infinity()}});
  EXPECT_EQ(testing::equation_of(graph, "GlobalNorm___0"),
            "Mul(Sqrt(Sum(ReduceSumSquare(Gradient___v), ReduceSumSquare(Gradient___w))), 1)");
  EXPECT_EQ(testing::equations_of(graph, 1),
            "outer: Sub(v, Mul(Gradient___v, 0.1))\n"
            "outer: Sub(w, Mul(Gradient___w, 0.1))\n");
}

TEST(ClipNorm, LeavesWeightsOfNoGroupAlone) {
  EXPECT_EQ(testing::equations_of(clipped({{.max_norm = 3, .weights = {"v"}}}), 1),
            "outer: Sub(v, Mul(Mul(Gradient___v, Div(3, Max(3, GlobalNorm___0))), 0.1))\n"
            "outer: Sub(w, Mul(Gradient___w, 0.1))\n");
}

}  // namespace
}  // namespace podium::ir
