#include "ir/passes/accumulate.h"

#include <gtest/gtest.h>

#include "ir/passes/make_training.h"
#include "tests/support/graph_equations.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

constexpr const char* kProduct =
    "g (float[2] x) => (float loss) <float[2] w = {1, 2}> {\n"
    "  p = Mul(w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}";

// What SGD with a rate of 0.1 appends to the outputs.
std::string updates(const Contributions& contributions, const char* text = kProduct) {
  Graph graph = testing::graph_of(text);
  TrainingRequest request{.loss = "loss", .contributions = contributions};
  request.weights = take_weights(graph);
  return testing::equations_of(make_training(std::move(graph), request).graph, 1);
}

TEST(Accumulate, LeavesTheGradientOfOneMicroBatchAsItIs) {
  EXPECT_EQ(updates({}), "outer: Sub(w, Mul(Gradient___w, 0.1))\n");
}

TEST(Accumulate, AddsUpAndBeginsAnewAfterTheUpdate) {
  EXPECT_EQ(updates({.accumulation = 4}),
            "Add(Accum___w, Gradient___w)\n"
            "zeros\n"
            "outer: Sub(w, Mul(Accum___w, 0.1))\n");
}

TEST(Accumulate, OfARunningMeanCountsTheMicroBatches) {
  EXPECT_EQ(
      updates({.accumulation = 4, .reduction = GradientReduction::MeanRunning}),
      "Add(Counter___, 1)\n"
      "0\n"
      "Add(Mul(Accum___w, Div(Counter___, Add(Counter___, 1))), Div(Gradient___w, Add(Counter___, 1)))\n"
      "outer: Sub(w, Mul(Accum___w, 0.1))\n");
}

// Slices of a micro-batch accumulate too, and the mean over them is that over whole micro-batches.
TEST(Accumulate, OfSlicesTakesEachForItsShare) {
  EXPECT_EQ(updates({.reduction = GradientReduction::MeanRunning, .slices = 2}),
            "Add(Counter___, 1)\n"
            "0\n"
            "Add(Mul(Accum___w, Div(Counter___, Add(Counter___, 1))), "
            "Div(Mul(Gradient___w, 2), Add(Counter___, 1)))\n"
            "outer: Sub(w, Mul(Accum___w, 0.1))\n");
}

// Every replica knows it without data: a sum over replicas is a multiple.
TEST(Accumulate, MultipliesWhatNoReplicaHasToTellTheOthers) {
  EXPECT_EQ(updates({.replicas = 2},
                    "g (float[2] x) => (float loss) <float[2] w = {1, 2}> {\n"
                    "  loss = ReduceSum <keepdims = 0> (w)\n}"),
            "outer: Sub(w, Mul(Mul(Gradient___w, 2), 0.1))\n");
}

}  // namespace
}  // namespace podium::ir
