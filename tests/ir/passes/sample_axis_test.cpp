#include "ir/passes/sample_axis.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

// Of the first op, whose inputs have their samples along `inputs` and its output along `output`.
bool keeps_apart(const std::string& body, std::vector<int> inputs, int output) {
  const Graph graph = testing::graph_of(body);
  return keeps_samples_apart(SampledOp{TypedOp(graph, graph.ops[0]), std::move(inputs), {output}});
}

TEST(SampleAxis, OfElementwiseOpsMustLieAtOnePlaceAfterBroadcasting) {
  const std::string add = "g (float[4, 4] a, float[2, 4, 4] b) => (float[2, 4, 4] y) { y = Add(a, b) }";
  EXPECT_TRUE(keeps_apart(add, {0, 1}, 1));
  EXPECT_FALSE(keeps_apart(add, {1, 1}, 1));
  EXPECT_TRUE(keeps_apart(add, {kNoAxis, 1}, 1));
}

TEST(SampleAxis, OfASoftmaxIsAnyButItsOwn) {
  const std::string softmax = "g (float[4, 6] x) => (float[4, 6] y) { y = Softmax <axis = 1> (x) }";
  EXPECT_TRUE(keeps_apart(softmax, {0}, 0));
  EXPECT_FALSE(keeps_apart(softmax, {1}, 1));
}

TEST(SampleAxis, OfACumulativeSumIsAnyButTheOneItRunsAlong) {
  const std::string sum = "g (float[4, 6] x) => (float[4, 6] y) <int64 axis = {0}> { y = CumSum(x, axis) }";
  EXPECT_FALSE(keeps_apart(sum, {0, kNoAxis}, 0));
  EXPECT_TRUE(keeps_apart(sum, {1, kNoAxis}, 1));
}

TEST(SampleAxis, OfAnOpWithoutARuleIsNotKnown) {
  const std::string unique = "g (float[4] x) => (float[n] y) { y = Unique(x) }";
  EXPECT_FALSE(keeps_apart(unique, {0}, 0));
}

}  // namespace
}  // namespace podium::ir
