#include "ir/passes/simplify.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "executor/session/session.h"
#include "ir/remove_dead.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"
#include "tests/support/text_model.h"

namespace podium::ir {
namespace {

using testing::graph_of;

// The ops that are left, in order: "Relu Neg".
std::string left_of(const std::string& body) {
  Graph graph = graph_of(body);
  simplify(graph);
  remove_dead(graph);
  verify(graph);
  std::string names;
  for (const Op& op : graph.ops) names += (names.empty() ? "" : " ") + std::string(op.spec->name);
  return names;
}

TEST(Simplify, RemovesIdentitiesAndKeepsTheNamesOfOutputs) {
  Graph graph = graph_of("g (float[2] x) => (float[2] y) { a = Identity(x) b = Relu(a) y = Identity(b) }");
  EXPECT_TRUE(simplify(graph));
  EXPECT_EQ(print(graph),
            "input x  # float[2]\n"
            "y = Relu(x)  # float[2]\n"
            "output y\n");
  EXPECT_FALSE(simplify(graph));
}

TEST(Simplify, PlansWhatStandsForWhat) {
  const Graph graph = graph_of(
      "g (float[2] x) => (float[2] y, float[2] z) { a = Identity(x) b = Relu(a) y = Identity(b) z = Identity(x) }");
  const Simplification plan = plan_simplification(graph, true);
  EXPECT_EQ(print(plan, graph),
            "a is x\n"
            "y is b\n"
            "Relu stays\n"
            "Identity stays\n");
  EXPECT_EQ(plan.renamed.size(), 1U);
  EXPECT_TRUE(plan.changed);
}

TEST(Simplify, KeepsAnOutputThatIsAnInput) {
  EXPECT_EQ(left_of("g (float[2] x) => (float[2] y) { y = Identity(x) }"), "Identity");
}

// A variable or a stream comes to one processor: its Identity there is where others get it from.
TEST(Simplify, KeepsWhatTakesAnInputToAnotherPlace) {
  const auto left = [](const char* at) {
    return left_of(
        fmt::format("g (float[2,3] x) => (float[3,2] y) <int64[2] shape = {{3, 2}}, int64[1] flat = "
                    "{{-1}}> {{ a = Identity <__ipu_number = 0> (x) b = Neg <__ipu_number = {0}> (a)"
                    "c = Reshape <__ipu_number = 0> (x, flat) d = Reshape <__ipu_number = {0}> (c, shape)"
                    "e = Reshape <__ipu_number = {0}> (b, shape) y = Add <__ipu_number = {0}> (d, e) }}",
                    at));
  };
  EXPECT_EQ(left("0"), "Neg Reshape Reshape Add");
  EXPECT_EQ(left("1"), "Identity Neg Reshape Reshape Reshape Add");
}

TEST(Simplify, KeepsTwoNamesForOneValue) {
  EXPECT_EQ(left_of("g (float[2] x) => (float[2] y, float[2] z) { y = Relu(x) z = Identity(y) }"),
            "Relu Identity");
}

TEST(Simplify, DropoutInInferenceIsItsInput) {
  EXPECT_EQ(left_of("g (float[2] x) => (float[2] y) { a = Dropout(x) y = Relu(a) }"), "Relu");
  EXPECT_EQ(left_of("g (float[2] x, float r, bool t) => (float[2] y) { a = Dropout(x, r, t) y = Relu(a) }"),
            "Dropout Relu");
}

TEST(Simplify, RemovesMovesThatMoveNothing) {
  const auto around = [](const std::string& node) {
    return left_of(
        "g (float[2,3] x) => (float[N,M] y) <int64[2] same = {2, 3}, int64[2] one = {1, 1}, int64[4] none = "
        "{0, 0, 0, 0},"
        "int64[2] begin = {0, 0}, int64[2] end = {9, 9}> { a = " +
        node + " y = Relu(a) }");
  };
  EXPECT_EQ(around("Transpose<perm = [0,1]>(x)"), "Relu");
  EXPECT_EQ(around("Transpose<perm = [1,0]>(x)"), "Transpose Relu");
  EXPECT_EQ(around("Flatten<axis = 1>(x)"), "Relu");
  EXPECT_EQ(around("Flatten<axis = 0>(x)"), "Flatten Relu");
  EXPECT_EQ(around("Concat<axis = 0>(x)"), "Relu");
}

// Rules that depend on the numbers of an input need folding, which makes the numbers known: so these run
// whole.
std::string after_simplifying(const std::string& body) {
  importer::Model model = testing::model_of(body);
  podium::optimize(model);
  std::string names;
  for (const Op& op : model.graph.ops) names += (names.empty() ? "" : " ") + std::string(op.spec->name);
  return names;
}

TEST(Simplify, RemovesReshapesSlicesPadsAndTilesThatDoNothing) {
  const auto around = [](const std::string& node) {
    return after_simplifying(
        "g (float[2,3] x) => (float[N,M] y) <int64[2] same = {2, 3}, int64[2] one = {1, 1}, int64[2] back = "
        "{-1, -1},"
        "int64[4] none = {0, 0, 0, 0}, int64[4] moved = {1, 0, -1, 0}, int64[2] begin = {0, 0}, int64[2] end "
        "= {9, 9},"
        "int64[2] axes = {0, 1}, int64[2] least = {-9, -9}, int64[2] last = {-1, -1}> { a = " +
        node + " y = Relu(a) }");
  };
  EXPECT_EQ(around("Reshape(x, same)"), "Relu");
  EXPECT_EQ(around("Expand(x, one)"), "Relu");
  EXPECT_EQ(around("Tile(x, one)"), "Relu");
  EXPECT_EQ(around("Slice(x, begin, end)"), "Relu");
  EXPECT_EQ(around("Slice(x, last, least, axes, back)"), "Slice Relu");
  EXPECT_EQ(around("Pad(x, none)"), "Relu");
  EXPECT_EQ(around("Pad(x, moved)"), "Pad Relu");
}

TEST(Simplify, ArithmeticWithANeutralNumberIsTheOtherNumber) {
  const auto around = [](const std::string& node) {
    return after_simplifying(
        "g (float[2] x, int64[2] i) => (float[2] y, int64[2] j) <float zero = {0}, float one = {1}, "
        "float[2,1] ones = {1, 1},"
        "int64 none = {0}> { a = " +
        node + " y = Relu(a) b = Add(none, i) j = Neg(b) }");
  };
  EXPECT_EQ(around("Mul(one, x)"), "Relu Neg");
  EXPECT_EQ(around("Div(x, one)"), "Relu Neg");
  EXPECT_EQ(around("Sub(x, zero)"), "Relu Neg");
  EXPECT_EQ(around("Sub(zero, x)"), "Sub Relu Neg");
  EXPECT_EQ(around("Div(one, x)"), "Div Relu Neg");
  // -0 + 0 is 0, so a sum with 0 is not what goes in.
  EXPECT_EQ(around("Add(x, zero)"), "Add Relu Neg");
}

TEST(Simplify, ANeutralNumberThatStretchesStays) {
  EXPECT_EQ(after_simplifying(
                "g (float[2] x) => (float[3,2] y) <float[3,1] ones = {1, 1, 1}> { y = Mul(x, ones) }"),
            "Mul");
}

TEST(Simplify, TransposesInARowAreOne) {
  Graph graph = graph_of(
      "g (float[2,3,4] x) => (float[4,2,3] y, float[2,3,4] z) {"
      "a = Transpose<perm = [1,2,0]>(x) y = Transpose<perm = [1,2,0]>(a) b = Transpose<perm = [2,0,1]>(a) z "
      "= Relu(b) }");
  EXPECT_TRUE(simplify(graph));
  remove_dead(graph);
  EXPECT_EQ(print(graph),
            "input x  # float[2,3,4]\n"
            "y = Transpose(x) {perm=[2,0,1]}  # float[4,2,3]\n"
            "z = Relu(x)  # float[2,3,4]\n"
            "output y, z\n");
}

TEST(Simplify, ReshapesInARowAreOne) {
  EXPECT_EQ(after_simplifying("g (float[2,6] x) => (float[4,3] y) <int64[1] flat = {-1}, int64[2] s = {4, 3}>"
                              "{ a = Reshape(x, flat) y = Reshape(a, s) }"),
            "Reshape");
  EXPECT_EQ(
      after_simplifying("g (float[2,6] x) => (float[2,6] y) <int64[1] i = {0}> { a = Unsqueeze(x, i) b = "
                        "Squeeze(a, i) y = Relu(b) }"),
      "Relu");
}

TEST(Simplify, TakesTheBranchThatIsKnown) {
  const std::string body =
      "g (float[2] x) => (float[2] y, float[2] z) <bool yes = {1}> {"
      "y, z = If(yes) <then_branch = t () => (float[2] p, float[2] r) { p = Exp(x) r = Neg(p) },"
      "                else_branch = e () => (float[2] q, float[2] s) { q = Neg(x) s = Identity(q) }> }";
  importer::Model model = testing::model_of(body);
  podium::optimize(model);
  EXPECT_EQ(print(model.graph),
            "input x  # float[2]\n"
            "y = Exp(x)  # float[2]\n"
            "z = Neg(y)  # float[2]\n"
            "output y, z\n");
}

TEST(Simplify, ABranchThatHandsOnAnInputKeepsTheOutputsName) {
  const std::string body =
      "g (float[2] x) => (float[2] y) <bool no = {0}> {"
      "y = If(no) <then_branch = t () => (float[2] p) { p = Exp(x) },"
      "            else_branch = e () => (float[2] q) { q = Identity(x) }> }";
  const auto out = testing::run_text(body, {testing::tensor<float>({2}, {1, 2})});
  EXPECT_EQ(testing::values<float>(out[0]), (std::vector<float>{1, 2}));
}

TEST(Simplify, BodiesMayHandOnWhatTheyAreGiven) {
  // Fibonacci: the state changes places through identities that go.
  const std::string body =
      "g (int64 n, bool c, int64 a, int64 b) => (int64 f, int64 s) {"
      "f, s = Loop(n, c, a, b) <body = l (int64 i, bool go, int64 p, int64 q) => (bool on, int64 r, int64 t)"
      "{ on = Identity(go) r = Identity(q) t = Add(p, q) }> }";
  const auto number = [](std::int64_t value) { return Tensor::scalar(value); };
  const auto out = testing::run_text(body, {number(10), Tensor::scalar(true), number(0), number(1)});
  EXPECT_EQ(out[0].tensor.to_number(), 55);
  EXPECT_EQ(out[1].tensor.to_number(), 89);
}

}  // namespace
}  // namespace podium::ir
