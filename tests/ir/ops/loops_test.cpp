#include "ir/ops/loops.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

std::string place(const std::vector<LoopAxis>& axes) {
  std::string text;
  for (const LoopAxis& at : axes) {
    text += text.empty() ? "" : " ";
    text += at.axis == kNoAxis ? "-" : std::to_string(at.axis);
    if (at.inner > 1) text += "x" + std::to_string(at.inner);
    constexpr std::string_view kReaches[] = {"", " seen", " over", " together"};
    text += kReaches[static_cast<int>(at.reach)];
  }
  return text;
}

// "4: 0 - -> 0": a loop of 4 along axis 0 of the first input and of the output, a sum where "+" stands.
std::string loops(const std::string& graph_text) {
  const Graph graph = testing::graph_of(graph_text);
  std::string text;
  for (const Loop& loop : loops_of(TypedOp(graph, graph.ops.back()))) {
    constexpr std::string_view kResults[] = {"", " +", " mean", " largest"};
    text += fmt::format("{}: {} -> {}{}\n", loop.extent, place(loop.inputs), place(loop.outputs),
                        kResults[static_cast<int>(loop.result)]);
  }
  return text;
}

TEST(Loops, OfAProductAreStackRowsColumnsAndTheSum) {
  EXPECT_EQ(loops("agraph (float[7,2,3] a, float[3,5] b) => (float[7,2,5] y) { y = MatMul(a, b) }"),
            "7: 0 - -> 0\n"
            "2: 1 - -> 1\n"
            "5: - 1 -> 2\n"
            "3: 2 0 -> - +\n");
}

TEST(Loops, OfAnElementwiseOpSkipAxesThatAreStretched) {
  EXPECT_EQ(loops("agraph (float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) { y = Sum(a, b, c) }"),
            "2: 0 - 0 -> 0\n"
            "3: 1 0 - -> 1\n");
}

TEST(Loops, OfAResizeReachAsFarAsTheFirstAndTheLastPointOfAnElement) {
  const auto resized = [](const std::string& dims, const std::string& mode) {
    return loops("agraph (float[1,1,4] a) => (float[" + dims + "] y) <int64[3] s = {" + dims +
                 "}> { y = Resize <mode = \"" + mode + "\"> (a, , , s) }");
  };
  EXPECT_EQ(resized("1,1,12", "linear"), "4: 2 seen - - - -> 2x3 seen\n");
  // However many points there are, also where another axis leaves none.
  EXPECT_EQ(resized("1,0,2147483648", "nearest"), "4: 2 - - - -> 2x536870912\n");
}

TEST(Loops, OfAReshapeAreTheFactorsThatBothShapesHave) {
  EXPECT_EQ(
      loops("agraph (float[2,12] a) => (float[2,3,4] y) <int64[3] s = {2, 3, 4}> { y = Reshape(a, s) }"),
      "2: 0 - -> 0\n"
      "3: 1x4 - -> 1\n"
      "4: 1 - -> 2\n");
  EXPECT_EQ(loops("agraph (float[2,1,3,4] a) => (float[6,4] y) <int64[2] s = {6, 4}> { y = Reshape(a, s) }"),
            "2: 0 - -> 0x3\n"
            "3: 2 - -> 0\n"
            "4: 3 - -> 1\n");
}

TEST(Loops, OfAReshapeEndWhereTheShapesHaveNoFactorInCommon) {
  EXPECT_EQ(loops("agraph (float[2,9] a) => (float[2,3,3] y) <int64[3] s = {2, 3, 3}> { y = Reshape(a, s) }"),
            "2: 0 - -> 0\n"
            "3: 1x3 - -> 1\n"
            "3: 1 - -> 2\n");
  EXPECT_EQ(loops("agraph (float[4,6] a) => (float[6,4] y) <int64[2] s = {6, 4}> { y = Reshape(a, s) }"), "");
}

TEST(Loops, OfAMeanWeightItsIterations) {
  EXPECT_EQ(
      loops("agraph (float[2,5] x) => (float[2] y) <int64[1] i = {1}> { y = ReduceMean<keepdims=0>(x, i) }"),
      "2: 0 - -> 0\n"
      "5: 1 - -> - mean\n");
}

TEST(Loops, OfASplitIntoEqualPartsRunInEachPart) {
  EXPECT_EQ(
      loops(
          "agraph (float[2,6] x) => (float[2,3] y, float[2,3] z) { y, z = Split<axis=1, num_outputs=2>(x) }"),
      "2: 0 -> 0 0\n"
      "3: 1 -> 1 1\n");
}

TEST(Loops, OfAConvolutionSumOverChannelsWithABiasToo) {
  const std::string head = "agraph (float[2,4,5,5] x, float[6,4,3,3] w";
  EXPECT_EQ(loops(head + ") => (float[2,6,3,3] y) { y = Conv(x, w) }"),
            "2: 0 - -> 0\n"
            "3: 2 seen - -> 2\n"
            "3: 3 seen - -> 3\n"
            "6: - 0 -> 1\n"
            "4: 1 1 -> - +\n");
  EXPECT_EQ(loops(head + ", float[6] b) => (float[2,6,3,3] y) { y = Conv(x, w, b) }"),
            "2: 0 - - -> 0\n"
            "3: 2 seen - - -> 2\n"
            "3: 3 seen - - -> 3\n"
            "6: - 0 0 -> 1\n"
            "4: 1 1 - -> - +\n");
}

// The iterations of a transposed convolution are what its windows give.
TEST(Loops, OfATransposedConvolutionReachTheWindowsOverAnElement) {
  EXPECT_EQ(loops("agraph (float[2,4,5] x, float[4,1,2] w) => (float[2,1,10] y) "
                  "{ y = ConvTranspose<strides=[2], group=2>(x, w) }"),
            "2: 0 - -> 0\n"
            "10: 2 over - -> 2\n"
            "2: 1x2 0x2 -> 1\n"
            "2: 1 0 -> - +\n");
}

TEST(Loops, OfAPoolOverAllPlacesAverageThem) {
  EXPECT_EQ(loops("agraph (float[2,4,5] x) => (float[2,4,1] y) { y = GlobalAveragePool(x) }"),
            "2: 0 -> 0\n"
            "4: 1 -> 1\n"
            "5: 2 -> - mean\n");
}

TEST(Loops, OfAttentionKeepHeadsThatShareKeysTogether) {
  EXPECT_EQ(
      loops("agraph (float[2,8,3,2] q, float[2,4,5,2] k) => (float[2,8,3,2] y) { y = Attention(q, k, k) }"),
      "2: 0 0 0 -> 0\n"
      "4: 1x2 1 1 -> 1x2\n"
      "3: 2 - - -> 2\n");
}

TEST(Loops, OfQueriesThatSeeByPositionRunWhereTheirPlacesAreKnown) {
  const std::string inputs =
      "agraph (float[1,2,3,2] q, float[1,2,5,2] k, int64[1] n) => (float[1,2,3,2] y) { y = ";
  const std::string with_queries = "2: 1 1 1 -> 1\n3: 2 - - -> 2\n";
  EXPECT_EQ(loops(inputs + "Attention <is_causal = 1> (q, k, k) }"), with_queries);
  EXPECT_EQ(loops(inputs + "Attention <left_window_size = 2> (q, k, k) }"), with_queries);
  EXPECT_EQ(loops(inputs + "Attention <is_causal = 1> (q, k, k, , , , n) }"), "2: 1 1 1 - - - - -> 1\n");
}

TEST(Loops, OfARotaryEmbeddingTakeItsPlacesAlong) {
  EXPECT_EQ(loops("agraph (float[2,3,8] x, float[9,1] c, float[9,1] s, int64[2,3] at) => (float[2,3,8] y) { "
                  "y = RotaryEmbedding <num_heads = 4> (x, c, s, at) }"),
            "2: 0 - - 0 -> 0\n"
            "3: 1 - - 1 -> 1\n"
            "4: 2x2 - - - -> 2x2\n");
  EXPECT_EQ(loops("agraph (float[2,4,3,6] x, float[2,3,2] c, float[2,3,2] s) => (float[2,4,3,6] y) { "
                  "y = RotaryEmbedding <rotary_embedding_dim = 4> (x, c, s) }"),
            "2: 0 0 0 -> 0\n"
            "3: 2 1 1 -> 2\n"
            "4: 1 - - -> 1\n");
}

TEST(Loops, HasNoneWhereAResultDependsOnEverything) {
  EXPECT_EQ(loops("agraph (float[4] x) => (float[4] y) { y = Softmax<axis=0>(x) }"), "");
  EXPECT_EQ(loops("agraph (float[4,4] x) => (float[4,4] y) { y = RandomUniform<shape = [4, 4]>() }"), "");
}

}  // namespace
}  // namespace podium::ir
