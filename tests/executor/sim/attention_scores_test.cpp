#include "executor/sim/attention_scores.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/graph_text.h"

namespace podium::sim {
namespace {

// Their names.
std::set<std::string> scores(const std::string& text) {
  const ir::Graph graph = testing::graph_of(text);
  std::set<std::string> names;
  for (ir::ValueId id : scores_of(graph)) names.insert(graph[id].name);
  return names;
}

using Names = std::set<std::string>;

TEST(AttentionScores, AreWhatProductsOfHeadsMakeAndAllOfTheirShape) {
  EXPECT_EQ(scores("g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, float16[2, 4, 128, 64] v) => "
                   "(float16[2, 4, 128, 64] y) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }"),
            (Names{"s", "p"}));
}

TEST(AttentionScores, AreTheSameTurnedOrWithOtherAxesOfHeads) {
  EXPECT_EQ(scores("g (float16[2, 2, 2, 128, 64] q, float16[2, 2, 1, 64, 256] k) => "
                   "(float16[2, 4, 256, 128] y) <int64[4] four = {2, 4, 128, 256}> "
                   "{ s = MatMul(q, k) t = Reshape(s, four) "
                   "y = Transpose<perm = [0, 1, 3, 2]>(t) }"),
            (Names{"s", "t", "y"}));
}

TEST(AttentionScores, AreNoneInPlainProducts) {
  EXPECT_EQ(scores("g (float16[128, 64] x, float16[64, 128] w) => (float16[128, 128] y) "
                   "{ y = MatMul(x, w) }"),
            Names{});
  EXPECT_EQ(scores("g (float16[2, 4, 32, 64] q, float16[2, 4, 64, 32] k) => (float16[2, 4, 32, 32] y) "
                   "{ y = MatMul(q, k) }"),
            Names{});
}

TEST(AttentionScores, AreMadeOfWhatIsStored) {
  const ir::Graph graph = testing::graph_of(
      "g (float16[2, 128, 64] x) => (float[2, 64, 128] y) { w = Cast<to = 1>(x) "
      "y = Transpose<perm = [0, 2, 1]>(w) }");
  const auto makers = ir::producers(graph);
  EXPECT_EQ(stored_width(graph, makers, graph.outputs[0]), 2);
  EXPECT_EQ(stored_width(graph, makers, graph.inputs[0]), 2);
  const ir::Graph computed = testing::graph_of("g (float[8] x) => (float[8] y) { y = Relu(x) }");
  EXPECT_EQ(stored_width(computed, ir::producers(computed), computed.outputs[0]), 4);
}

}  // namespace
}  // namespace podium::sim
