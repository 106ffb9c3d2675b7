#include "ir/passes/inline_branches.h"

#include <gtest/gtest.h>

#include "ir/graph.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;

constexpr const char* kBranches =
    "y = If(c) <then_branch = t () => (float[2] p) { e = Exp(x) p = Neg(e) },"
    "           else_branch = e () => (float[2] q) { q = Identity(x) }> }";

TEST(InlineBranches, PutsTheOpsOfTheBranchInThePlaceOfTheIf) {
  Graph graph = graph_of(std::string("g (float[2] x) => (float[2] y) <bool c = {1}> {") + kBranches);
  EXPECT_TRUE(inline_branches(graph));
  verify(graph);
  std::string names;
  for (const Op& op : graph.ops) names += std::string(op.spec->name) + " ";
  EXPECT_EQ(names, "Exp Neg Identity ");
  EXPECT_EQ(graph.ops[0].inputs[0], graph.inputs[0]);
  EXPECT_EQ(graph.ops[2].outputs[0], graph.outputs[0]);
  EXPECT_FALSE(inline_branches(graph));
}

TEST(InlineBranches, LeavesAnIfWhoseConditionTheRunDecides) {
  Graph graph = graph_of(std::string("g (bool c, float[2] x) => (float[2] y) {") + kBranches);
  EXPECT_FALSE(inline_branches(graph));
  EXPECT_TRUE(graph.ops.at(0).is("If"));
}

}  // namespace
}  // namespace podium::ir
