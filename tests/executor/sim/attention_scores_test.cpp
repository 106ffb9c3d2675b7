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
  const AttentionScores found(graph);
  for (ir::ValueId id : graph.value_ids()) {
    if (found.contains(id)) names.insert(graph[id].name);
  }
  return names;
}

// That of the last op on scores.
AttentionScores::Kernel kernel(const std::string& text) {
  const ir::Graph graph = testing::graph_of(text);
  const AttentionScores found(graph);
  AttentionScores::Kernel last;
  for (const ir::Op& op : graph.ops) {
    if (const auto* kernel = found.kernel_of(op)) last = *kernel;
  }
  return last;
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
  EXPECT_EQ(kernel("g (float16[4, 128, 64] x, float[4, 64, 128] k) => (float[4, 128, 128] y) "
                   "{ q = Cast<to = 1>(x) y = MatMul(q, k) }")
                .width,
            2);
  EXPECT_EQ(kernel("g (float[4, 128, 64] q, float[4, 64, 128] k) => (float[4, 128, 128] y) "
                   "{ y = MatMul(q, k) }")
                .width,
            4);
}

// Scores of masks: causal ones, those of padding, and biases that differ from head to head.
std::string masked(const std::string& mask) {
  return "g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, " + mask +
         " m, float16 low) => (float16[2, 4, 128, 128] y) { s = MatMul(q, k) y = Where(m, s, low) }";
}

TEST(AttentionScores, AreHalfHiddenByAMaskOfPositions) {
  EXPECT_EQ(kernel(masked("bool[1, 1, 128, 128]")).share_seen, 0.5);
  EXPECT_EQ(kernel(masked("bool[128, 128]")).share_seen, 0.5);
  EXPECT_EQ(kernel("g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, float16[1, 128, 128] m) => "
                   "(float16[2, 4, 128, 128] y) { s = MatMul(q, k) y = Add(s, m) }")
                .share_seen,
            0.5);
}

TEST(AttentionScores, AreAllSeenWithoutOne) {
  EXPECT_EQ(kernel(masked("bool[2, 1, 1, 128]")).share_seen, 1);
  EXPECT_EQ(kernel("g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, float16[1, 4, 128, 128] m) => "
                   "(float16[2, 4, 128, 128] y) { s = MatMul(q, k) y = Add(s, m) }")
                .share_seen,
            1);
}

TEST(AttentionScores, OfTwoAttentionsAreOfTwoKernels) {
  const ir::Graph graph = testing::graph_of(
      "g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, float16[2, 4, 128, 64] v, "
      "bool[128, 128] m, float16 low) => (float16[2, 4, 128, 128] a, float16[2, 4, 128, 128] b) "
      "{ s = MatMul(q, k) a = Where(m, s, low) t = MatMul(v, k) b = Relu(t) }");
  const AttentionScores found(graph);
  EXPECT_EQ(found.kernel_of(graph.ops[0])->share_seen, 0.5);
  EXPECT_EQ(found.kernel_of(graph.ops[2])->share_seen, 1);
}

TEST(AttentionScores, AreMadeAnewOnTheWayBack) {
  const std::string operands =
      "g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, float16[2, 4, 128, 64] v, "
      "float16[2, 4, 64, 128] w, float16[2, 4, 128, 64] dy, float16[2, 4, 128, 128] p) => ";
  const std::string backward =
      "{ pt = Transpose<perm = [0, 1, 3, 2]>(p) dv = MatMul(pt, dy) dp = MatMul(dy, w) ds = Mul(p, dp) "
      "dq = MatMul(ds, v) st = Transpose<perm = [0, 1, 3, 2]>(ds) dk = MatMul(st, q) }";
  const std::string results =
      "(float16[2, 4, 128, 64] dv, float16[2, 4, 128, 64] dq, float16[2, 4, 128, 64] dk) ";
  const AttentionScores::Kernel back = kernel(operands + results + backward);
  EXPECT_NEAR(back.repeats, 5 / 0.87 / 4, 1e-9);
  EXPECT_TRUE(back.goes_back);
  EXPECT_EQ(kernel("g (float16[4, 128, 64] q, float16[4, 64, 128] k, float16[4, 128, 64] v) => "
                   "(float16[4, 128, 64] y) { s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v) }")
                .repeats,
            1);
}

// What is on the way to a kernel or from one, by the names of results.
std::set<std::string> ways(const std::string& text) {
  const ir::Graph graph = testing::graph_of(text);
  const AttentionScores found(graph);
  std::set<std::string> names;
  for (const ir::Op& op : graph.ops) {
    if (found.is_on_the_way(op)) names.insert(graph[op.outputs[0]].name);
  }
  return names;
}

TEST(AttentionScores, HaveOperandsThatAreTurnedAndWidenedOnTheWay) {
  const std::string attention =
      "w = Cast<to = 1>(x) q = Transpose<perm = [0, 2, 1, 3]>(w) s = MatMul(q, k) p = Softmax(s) "
      "y = MatMul(p, v) t = Transpose<perm = [0, 2, 1, 3]>(y) z = Cast<to = 10>(t) ";
  const std::string operands =
      "g (float16[2, 128, 4, 64] x, float[2, 4, 64, 128] k, float[2, 4, 128, 64] v) => ";
  EXPECT_EQ(ways(operands + "(float16[2, 128, 4, 64] z) {" + attention + "}"), (Names{"w", "q", "t", "z"}));
  // What is widened has another reader.
  EXPECT_EQ(
      ways(operands + "(float16[2, 128, 4, 64] z, float[2, 128, 4, 64] e) {" + attention + "e = Exp(w) }"),
      (Names{"q", "t", "z"}));
}

TEST(AttentionScores, AreNotOnTheWayThemselvesNorIsWhatOtherProductsRead) {
  EXPECT_EQ(ways("g (float16[2, 4, 128, 64] q, float16[2, 4, 64, 128] k, float16[2, 4, 128, 64] v) => "
                 "(float16[2, 4, 128, 64] y) { s = MatMul(q, k) t = Transpose<perm = [0, 1, 3, 2]>(s) "
                 "p = Softmax(t) y = MatMul(p, v) }"),
            Names{});
  EXPECT_EQ(ways("g (float16[128, 64] x, float[128, 32] w) => (float[64, 32] y) "
                 "{ c = Cast<to = 1>(x) t = Transpose(c) y = MatMul(t, w) }"),
            Names{});
}

}  // namespace
}  // namespace podium::sim
