#include "ir/passes/round_operands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/annotation.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;

std::string rounded(const std::string& text) {
  Graph graph = graph_of(text);
  EXPECT_TRUE(round_operands(graph));
  return print(graph);
}

TEST(RoundOperands, RoundsAlongTheAxisThatAProductSumsOver) {
  EXPECT_EQ(rounded("g (float[2,64] x, float[64,8] w) => (float[2,8] y)"
                    "{ y = MatMul <__operands_type = \"mxfp8\", __ipu_number = 1> (x, w) }"),
            "input x  # float[2,64]\n"
            "input w  # float[64,8]\n"
            "x:0 = podium.RoundToBlocks(x) {__ipu_number=1, axis=1}  # float[2,64]\n"
            "w:1 = podium.RoundToBlocks(w) {__ipu_number=1, axis=0}  # float[64,8]\n"
            "y = MatMul(x:0, w:1) {__operands_type=\"mxfp8\", __ipu_number=1}  # float[2,8]\n"
            "output y\n");
}

TEST(RoundOperands, KnowsWhichOperandsOfAGemmAreTurned) {
  const std::string text = rounded(
      "g (float[64,2] x, float[8,64] w) => (float[2,8] y)"
      "{ y = Gemm <transA = 1, transB = 1, __operands_type = \"mxfp8\"> (x, w) }");
  EXPECT_THAT(text, HasSubstr("RoundToBlocks(x) {axis=0}"));
  EXPECT_THAT(text, HasSubstr("RoundToBlocks(w) {axis=1}"));
}

// The gradient of a weight reads what flows as a matrix, turned: blocks of 32 of a sample's tokens.
TEST(RoundOperands, RoundsInFrontOfViewsAndTranspositions) {
  const std::string text = rounded(
      "g (float[2,64,8] x, float[128,4] dy) => (float[8,4] dw)"
      "{ flat = Flatten <axis = 2> (x) turned = Transpose <perm = [1, 0]> (flat)"
      "  dw = MatMul <__operands_type = \"mxfp8\"> (turned, dy) }");
  EXPECT_THAT(text, HasSubstr("x:0 = podium.RoundToBlocks(x) {axis=1}"));
  EXPECT_THAT(text, HasSubstr("Flatten(x:0)"));
}

TEST(RoundOperands, LeavesProductsOfWholeNumbers) {
  Graph graph = graph_of(
      "g (int32[2,64] x, int32[64,8] w) => (int32[2,8] y)"
      "{ y = MatMul <__operands_type = \"mxfp8\"> (x, w) }");
  EXPECT_FALSE(round_operands(graph));
}

TEST(RoundOperands, RoundsBehindAViewThatWouldCutBlocks) {
  const std::string text = rounded(
      "g (float[4,16,8] x, float[64,4] dy) => (float[8,4] dw)"
      "{ flat = Flatten <axis = 2> (x) turned = Transpose <perm = [1, 0]> (flat)"
      "  dw = MatMul <__operands_type = \"mxfp8\"> (turned, dy) }");
  EXPECT_THAT(text, HasSubstr("RoundToBlocks(flat) {axis=0}"));
}

TEST(RoundOperands, LeavesWhatAsksForNothing) {
  Graph graph = graph_of(
      "g (float[2,64] x, float[64,8] w) => (float[2,8] y)"
      "{ y = MatMul <__operands_type = \"float\"> (x, w) }");
  EXPECT_FALSE(round_operands(graph));
}

TEST(AskForNarrowOperands, AsksOfProductsByWeightsThatSayNothing) {
  Graph graph = graph_of(
      "g (float[2,2] x, float[2,2] w, float[2,2] v) => (float[2,2] y) <float[2,2] k = {1, 2, 3, 4}> {"
      "  t = Transpose <perm = [1, 0]> (w) a = MatMul (x, t) b = MatMul <__operands_type = \"float\"> (a, w)"
      "  c = MatMul (b, v) y = MatMul (c, k) }");
  ask_for_narrow_operands(graph, {graph.inputs[1]});
  std::vector<std::string> asked;
  for (const Op& op : graph.ops) {
    const auto* told = attribute_if<std::string>(op, kOperandsType);
    if (told != nullptr && *told == kMxFp8) asked.push_back(graph[op.outputs[0]].name);
  }
  EXPECT_THAT(asked, ::testing::ElementsAre("a", "y"));
}

}  // namespace
}  // namespace podium::ir
