#include "ir/passes/sample_total.h"

#include <gtest/gtest.h>

#include "ir/op_spec.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

// Of the first op, whose inputs have these axes or are these totals.
int total(const std::string& op, std::vector<int> inputs) {
  const Graph graph = testing::graph_of("g (float[4, 3] x, float[4, 3] z) => (y) { y = " + op + " }");
  return total_over_samples(SampledOp{TypedOp(graph, graph.ops[0]), std::move(inputs), {kNoAxis}});
}

TEST(SampleTotal, OfAReductionOverSamplesIsASumOrAMean) {
  EXPECT_EQ(total("ReduceSum(x)", {0}), kSummed);
  EXPECT_EQ(total("ReduceL1(x)", {0}), kSummed);
  EXPECT_EQ(total("ReduceSumSquare(x)", {0}), kSummed);
  EXPECT_EQ(total("ReduceMean(x)", {0}), kAveraged);
  EXPECT_EQ(total("ReduceMax(x)", {0}), kNoAxis);
  EXPECT_EQ(total("ReduceL2(x)", {0}), kNoAxis);
}

TEST(SampleTotal, GoesThroughWhatIsLinear) {
  EXPECT_EQ(total("Neg(x)", {kSummed}), kSummed);
  EXPECT_EQ(total("ReduceMean(x)", {kSummed}), kSummed);
  EXPECT_EQ(total("Mul(x, z)", {kNoAxis, kAveraged}), kAveraged);
  EXPECT_EQ(total("Div(x, z)", {kSummed, kNoAxis}), kSummed);
  EXPECT_EQ(total("Div(x, z)", {kNoAxis, kSummed}), kNoAxis);
  EXPECT_EQ(total("Mul(x, z)", {kSummed, kSummed}), kNoAxis);
  EXPECT_EQ(total("Exp(x)", {kSummed}), kNoAxis);
  EXPECT_EQ(total("ReduceL1(x)", {kSummed}), kNoAxis);
}

// What is the same for each slice would be added once for each of them.
TEST(SampleTotal, OfASumTakesNothingElseButInAMean) {
  EXPECT_EQ(total("Add(x, z)", {kSummed, kSummed}), kSummed);
  EXPECT_EQ(total("Add(x, z)", {kSummed, kNoAxis}), kNoAxis);
  EXPECT_EQ(total("Add(x, z)", {kAveraged, kNoAxis}), kAveraged);
  EXPECT_EQ(total("Sub(x, z)", {kSummed, kAveraged}), kNoAxis);
  EXPECT_EQ(total("Add(x, z)", {kSummed, 0}), kNoAxis);
}

TEST(SampleTotal, OfALossIsKnownWhenAllLabelsCount) {
  const auto loss = [](const std::string& op, std::vector<int> inputs) {
    const Graph graph = testing::graph_of(
        "g (float[4, 3] x, int64[4] l) => (float y) <float[3] w = {1, 2, 3}> { y = " + op + " }");
    return total_over_samples(SampledOp{TypedOp(graph, graph.ops[0]), std::move(inputs), {kNoAxis}});
  };
  EXPECT_EQ(loss("SoftmaxCrossEntropyLoss(x, l)", {0, 0}), kAveraged);
  EXPECT_EQ(loss("SoftmaxCrossEntropyLoss <reduction = \"sum\"> (x, l)", {0, 0}), kSummed);
  EXPECT_EQ(loss("SoftmaxCrossEntropyLoss <ignore_index = 0> (x, l)", {0, 0}), kNoAxis);
  EXPECT_EQ(loss("SoftmaxCrossEntropyLoss(x, l, w)", {0, 0, kNoAxis}), kNoAxis);
}

}  // namespace
}  // namespace podium::ir
