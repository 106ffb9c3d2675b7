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
  EXPECT_EQ(inline_branches(graph), (std::vector<OpId>{OpId{0}, OpId{0}, OpId{0}}));
  verify(graph);
  std::string names;
  for (const Op& op : graph.ops) names += std::string(op.spec->name) + " ";
  EXPECT_EQ(names, "Exp Neg Identity ");
  EXPECT_EQ(graph.ops[0].inputs[0], graph.inputs[0]);
  EXPECT_EQ(graph.ops[2].outputs[0], graph.outputs[0]);
  EXPECT_TRUE(inline_branches(graph).empty());
}

TEST(InlineBranches, TellsWhichOpsItsOpsComeFrom) {
  Graph graph =
      graph_of(std::string("g (float[2] z) => (float[2] y, float[2] w) <bool c = {0}> { x = Exp(z) ") +
               std::string(kBranches).substr(0, std::string(kBranches).size() - 1) + " w = Neg(x) }");
  EXPECT_EQ(inline_branches(graph), (std::vector<OpId>{OpId{0}, OpId{1}, OpId{1}, OpId{2}}));
}

TEST(InlineBranches, LeavesAnIfWhoseConditionTheRunDecides) {
  Graph graph = graph_of(std::string("g (bool c, float[2] x) => (float[2] y) {") + kBranches);
  EXPECT_TRUE(inline_branches(graph).empty());
  EXPECT_TRUE(graph.ops.at(0).is("If"));
}

}  // namespace
}  // namespace podium::ir
