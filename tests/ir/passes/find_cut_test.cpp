#include "ir/passes/find_cut.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

// The op that lets nothing flow from the first output to the inputs.
std::string cut_of(const std::string& body) {
  const Graph graph = testing::graph_of(body);
  const OpId cut = find_cut(graph, graph.outputs[0], graph.inputs);
  return cut.valid() ? graph.describe(graph[cut]) : "";
}

TEST(FindCut, NamesTheOpWithoutAGradientOnTheWay) {
  EXPECT_EQ(cut_of("g (float[2] x) => (float y) {\n"
                   "  a = Exp(x)\n  b = Round(a)\n  y = ReduceSum <keepdims = 0> (b)\n}"),
            "node 'b' (Round)");
}

TEST(FindCut, OfSeveralIsTheLast) {
  EXPECT_EQ(cut_of("g (float[2] x) => (float[2] y) { a = Floor(x) b = Ceil(a) y = Neg(b) }"),
            "node 'b' (Ceil)");
}

TEST(FindCut, OfWhatFlowsIsNone) {
  EXPECT_EQ(cut_of("g (float[2] x) => (float[2] y) { a = Exp(x) y = Neg(a) }"), "");
}

TEST(FindCut, LooksAtNothingBesideTheWay) {
  EXPECT_EQ(cut_of("g (float[2] x) => (float[2] y, float[2] z) { a = Exp(x) z = Round(a) y = Neg(a) }"), "");
  EXPECT_EQ(cut_of("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { a = Round(c) y = Mul(a, x) }"),
            "");
}

}  // namespace
}  // namespace podium::ir
