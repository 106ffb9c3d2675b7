#include "annotate/automatic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "annotate/place.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using ::testing::ElementsAre;
using testing::graph_of;

// x0 -> x1 -> ... each a product with a weight; `weights[i]` names the one of layer i.
ir::Graph layers(const std::vector<std::string>& weights, const std::string& input_again = "") {
  std::string known;
  std::string nodes;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (known.find(" " + weights[i] + " ") == std::string::npos) {
      known += (known.empty() ? "" : ",") + fmt::format("float[4] {} = {{1, 2, 3, 4}}", weights[i]);
    }
    const std::string second = i + 1 == weights.size() && !input_again.empty() ? input_again : weights[i];
    nodes += fmt::format("x{} = Mul(x{}, {}) ", i + 1, i, second);
  }
  return graph_of(
      fmt::format("g (float[4] x0) => (float[4] x{}) <{}> {{ {} }}", weights.size(), known, nodes));
}

Costs costs_of(const ir::Graph& graph, std::vector<double> seconds) {
  Costs costs = count_bytes(graph);
  costs.seconds = std::move(seconds);
  return costs;
}

TEST(CountBytes, CountsAWeightAtItsFirstReaderAndWhatLivesWhileAnOpRuns) {
  const Costs costs = count_bytes(graph_of(R"(g (float[2] x) => (float[2] c) <float[2] w = {1, 2}> {
    a = Mul (x, w)
    b = Mul (a, w)
    c = Add (a, b)
  })"));
  EXPECT_THAT(costs.weight_bytes, ElementsAre(8, 0, 0));
  EXPECT_THAT(costs.activation_bytes, ElementsAre(16, 16, 24));
  ASSERT_EQ(costs.shared.size(), 1U);
  EXPECT_EQ(costs.shared.begin()->second.bytes, 8);
}

TEST(CountBytes, CountsWhatLiesInsideAnOpWithABody) {
  const Costs costs = count_bytes(graph_of(R"(g (float[2] x) => (float[2] y) <int64 n = {3}> {
    y = Loop <body = b (int64 i, bool c, float[2] u) => (bool d, float[2] v) <float[2] w = {1, 2}> {
      d = Identity (c)
      m = Mul (u, w)
      v = Add (m, u)
    }> (n, , x)
  })"));
  EXPECT_THAT(costs.weight_bytes, ElementsAre(8 + 8));  // the number of trips, and the body's weight
  EXPECT_THAT(costs.activation_bytes, ElementsAre(16 + 24)) << "x and y; inside u, m and v";
}

TEST(Automatic, ShardsByTime) {
  const ir::Graph graph = layers({"a", "b", "c", "d"});
  EXPECT_THAT(shard(graph, costs_of(graph, {3, 1, 1, 1}), {.parts = 2}), ElementsAre(0, 1, 1, 1));
}

TEST(Automatic, StaysInTheMemory) {
  const ir::Graph graph = layers({"a", "b", "c", "d"});  // each layer: 16 bytes of weights, 32 of activations
  EXPECT_THAT(shard(graph, costs_of(graph, {3, 1, 1, 1}), {.parts = 2, .memory_bytes = 64}),
              ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(phases(graph, costs_of(graph, {3, 1, 1, 1}), {.parts = 2, .memory_bytes = 128}),
              ElementsAre(0, 0, 1, 1));
}

TEST(Automatic, CountsStashesOfAPipeline) {
  const ir::Graph graph = layers({"a", "b", "c", "d"});
  Costs costs = costs_of(graph, {1, 1, 1, 1});
  costs.stash_bytes = {8, 8, 8, 8};
  const AutomaticOptions options{.parts = 2,
                                 .memory_bytes = 104};  // a layer: 16 of weights; 32 of activations
  EXPECT_THAT(pipeline(graph, costs, options), ElementsAre(0, 0, 1, 1));
  AutomaticOptions deep = options;
  deep.stash_depths = {3, 1};
  EXPECT_THAT(pipeline(graph, costs, deep), ElementsAre(0, 1, 1, 1));
}

TEST(Automatic, CutsWhereFewBytesCross) {
  const ir::Graph graph = graph_of(R"(g (float[8] x) => (float[8] y) {
    a = Relu (x)
    s = ReduceSum (a)
    y = Add (s, s)
  })");
  EXPECT_THAT(shard(graph, costs_of(graph, {1, 1, 1}), {.parts = 2}), ElementsAre(0, 0, 1));
}

// After two ops of four a whole vector crosses, 64 bytes, after the third a sum, 4 bytes.
TEST(Automatic, WeighsAnExchangeAgainstEqualParts) {
  const ir::Graph graph = graph_of(R"(g (float[16] x) => (float[1] y) {
    a = Relu (x)
    b = Neg (a)
    s = ReduceSum (b)
    y = Neg (s)
  })");
  const Costs costs = costs_of(graph, {1, 1, 1, 1});
  for (const auto place : {shard, pipeline}) {
    EXPECT_THAT(place(graph, costs, {.parts = 2, .seconds_per_byte = 0.016}), ElementsAre(0, 0, 1, 1));
    EXPECT_THAT(place(graph, costs, {.parts = 2, .seconds_per_byte = 0.017}), ElementsAre(0, 0, 0, 1));
  }
}

// A weight is of 16 bytes.
TEST(Automatic, WeighsCopiesOfAVariableAgainstKeepingItsReadersTogether) {
  const ir::Graph graph = layers({"a", "b", "b", "c"});
  Costs costs = costs_of(graph, {1, 1, 1, 1});
  EXPECT_THAT(shard(graph, costs, {.parts = 2}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(pipeline(graph, costs, {.parts = 2}), ElementsAre(0, 0, 1, 1));
  costs.stash_bytes = {0, 0, 0, 0};
  for (auto& [id, weight] : costs.shared) weight.gradient_bytes = 16;
  // Apart a cycle is 3 times 2 seconds and the exchange of an activation, its gradient and the weight's;
  // together it is 3 times 3 seconds and the exchange of an activation and its gradient.
  EXPECT_THAT(pipeline(graph, costs, {.parts = 2, .seconds_per_byte = 0.18}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(pipeline(graph, costs, {.parts = 2, .seconds_per_byte = 0.19}), ElementsAre(0, 1, 1, 1));
}

TEST(Automatic, CountsACopyInTheMemoryOfEachPart) {
  const ir::Graph graph = layers({"a", "b", "b", "c"});
  const Costs costs = costs_of(graph, {1, 1, 1, 1});
  // Three weights and two activations are on the fullest processor where b is kept together, and four
  // weights are on both where it is not.
  EXPECT_THAT(pipeline(graph, costs, {.parts = 2, .memory_bytes = 64}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(shard(graph, costs_of(graph, {2, 1, 1, 1}), {.parts = 3, .memory_bytes = 48}),
              ElementsAre(0, 1, 1, 2));
}

TEST(Automatic, HoldsAVariableOnEachProcessorWhenTogetherLeavesTooFewCuts) {
  const ir::Graph graph = layers({"a", "b", "b", "a"});
  EXPECT_THAT(pipeline(graph, costs_of(graph, {1, 1, 1, 1}), {.parts = 3}), ElementsAre(0, 1, 1, 2));
}

TEST(Automatic, KeepsUnitsTogether) {
  const ir::Graph graph = layers({"a", "b", "c", "d"});
  const Costs costs = costs_of(graph, {1, 1, 1, 1});
  EXPECT_THAT(shard(graph, costs, {.parts = 2, .units = {0, 1, 1, 1}}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(testing::refusal([&] {
                shard(graph, costs, {.parts = 3, .units = {0, 1, 1, 1}});
              }),
              ::testing::HasSubstr("2 parts at most"));
}

TEST(Automatic, SplitsByRatio) {
  const ir::Graph graph = layers({"a", "b", "c", "d"});
  const Costs costs = costs_of(graph, {1, 1, 1, 1});
  EXPECT_THAT(split_by_ratio(graph, costs, {0.75, 0.25}, 2), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(split_by_ratio(graph, costs, {0.01, 0.98, 0.01}, 3), ElementsAre(0, 1, 1, 2));
  EXPECT_THAT(split_by_ratio(graph, costs, {0.1, 0.2, 0.3, 0.4}, 4), ElementsAre(0, 1, 2, 3));
  const ir::Graph six = layers({"a", "b", "c", "d", "e", "f"});
  EXPECT_THAT(split_by_ratio(six, costs_of(six, {1, 1, 1, 1, 1, 1}), {0.33, 0.33, 0.33}, 3),
              ElementsAre(0, 0, 1, 1, 2, 2));
}

TEST(Automatic, RefusesRatiosThatAreNone) {
  const ir::Graph graph = layers({"a", "b", "c", "d"});
  const Costs costs = costs_of(graph, {1, 1, 1, 1});
  const auto refusal = [&](const std::vector<double>& ratios) {
    return testing::refusal([&] { split_by_ratio(graph, costs, ratios, 3); });
  };
  EXPECT_EQ(refusal({0.5, 0.5}),
            "virtualGraphSplitRatios: 2 ratios found, one for each of 3 processors needed");
  EXPECT_EQ(refusal({0.5, 0.5, 0}), "virtualGraphSplitRatios: 0 found, a number in (0, 1] needed");
  EXPECT_EQ(refusal({0.5, 0.25, 0.5}), "virtualGraphSplitRatios: a sum of 1.25 found, 1 needed");
  EXPECT_EQ(refusal({0.333, 0.333, 0.333}), "");
  EXPECT_EQ(refusal({0.33, 0.33, 0.33}), "");
  EXPECT_EQ(refusal({0.34, 0.34, 0.33}), "");
  EXPECT_EQ(refusal({0.34, 0.34, 0.34}), "virtualGraphSplitRatios: a sum of 1.02 found, 1 needed");
  EXPECT_EQ(refusal({0.1, 0.2, 0.7}), "") << "no exact comparison of floating-point sums";
}

TEST(Automatic, RefusesMoreProcessorsThanOps) {
  const ir::Graph graph = layers({"a", "b"});
  EXPECT_EQ(
      testing::refusal([&] {
        shard(graph, costs_of(graph, {1, 1}), {.parts = 3});
      }),
      "could not find enough splits for 3 processors or phases: the model can be cut into 2 parts at most");
}

TEST(WriteParts, ReplacesWhatOpsSaid) {
  ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] b) {
    a = Relu<__ipu_number=3, virtualGraph=4, __pipeline_stage=1> (x)
    b = Neg (a)
  })");
  write_parts(graph, {0, 1}, "__pipeline_stage");
  EXPECT_THAT(ir::print(graph), ::testing::AllOf(::testing::HasSubstr("a = Relu(x) {__pipeline_stage=0}"),
                                                 ::testing::HasSubstr("b = Neg(a) {__pipeline_stage=1}")));
}

}  // namespace
}  // namespace podium::annotate
