#include "ir/passes/simplify_rules.h"

#include <gtest/gtest.h>

#include "ir/op_spec.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

// What a rule sees at the last op of a graph.
struct AtLast {
  explicit AtLast(const std::string& body) : graph(testing::graph_of(body)) {
    last = graph.ops.back();
    graph.ops.pop_back();
    for (ValueId id : graph.inputs) view.is_input[id] = true;
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      for (ValueId id : outputs_of(graph.ops[i])) view.producers[id] = static_cast<std::int32_t>(i);
    }
  }
  AtLast(const AtLast&) = delete;
  AtLast& operator=(const AtLast&) = delete;

  std::string same() const {
    const ValueId id = same_value(view, last);
    return id.valid() ? graph[id].name : "";
  }
  std::string shortened() {
    if (!shorten(view, last)) return "";
    std::string text = std::string(last.spec->name) + " of";
    for (ValueId id : last.inputs) text += " " + graph[id].name;
    return text;
  }

  Graph graph;
  Op last;
  SimplifyView view{graph, graph.ops, IdMap<ValueId, std::int32_t>(std::ssize(graph.values), -1),
                    IdMap<ValueId, bool>(std::ssize(graph.values))};
};

std::string same(const std::string& equations, const std::string& weights = "") {
  return AtLast("g (float[2, 3] x) => (y) " + weights + " {\n" + equations + "\n}").same();
}

TEST(SimplifyRules, KnowWhatHandsOnItsInput) {
  EXPECT_EQ(same("y = Identity(x)"), "x");
  EXPECT_EQ(same("y = Cast <to = 1> (x)"), "x");
  EXPECT_EQ(same("y = Cast <to = 10> (x)"), "");
  EXPECT_EQ(same("y = Transpose <perm = [0, 1]> (x)"), "x");
  EXPECT_EQ(same("y = Relu(x)"), "");
}

TEST(SimplifyRules, KnowNumbersThatChangeNoBit) {
  EXPECT_EQ(same("y = Mul(x, c)", "<float c = {1}>"), "x");
  EXPECT_EQ(same("y = Mul(c, x)", "<float c = {1}>"), "x");
  EXPECT_EQ(same("y = Sub(x, c)", "<float c = {0}>"), "x");
  EXPECT_EQ(same("y = Sub(c, x)", "<float c = {0}>"), "");
  EXPECT_EQ(same("y = Add(x, c)", "<float c = {0}>"), "");  // -0 + 0 is 0
}

// A transpose of a transpose reads past it, and what is left may turn nothing.
TEST(SimplifyRules, KnowPairsThatUndoEachOther) {
  AtLast pair("g (float[2, 3] x) => (y) { a = Transpose(x) y = Transpose(a) }");
  EXPECT_EQ(pair.same(), "");
  EXPECT_EQ(pair.shortened(), "Transpose of x");
  EXPECT_EQ(pair.same(), "x");
  AtLast apart("g (float[2, 3] x) => (y) { a = Transpose(x) b = Relu(a) y = Transpose(b) }");
  EXPECT_EQ(apart.shortened(), "");
}

TEST(SimplifyRules, ReachPastAnOpOfTheSameKind) {
  AtLast reshapes(
      "g (float[2, 3] x) => (y) <int64[1] a = {6}, int64[2] b = {3, 2}> {\n"
      "  f = Reshape(x, a)\n  y = Reshape(f, b)\n}");
  EXPECT_EQ(reshapes.shortened(), "Reshape of x b");
  AtLast between(
      "g (float[2, 3] x) => (y) <int64[1] a = {6}, int64[2] b = {3, 2}> {\n"
      "  f = Reshape(x, a)\n  r = Exp(f)\n  y = Reshape(r, b)\n}");
  EXPECT_EQ(between.shortened(), "");
}

TEST(SimplifyRules, ReachPastElementsThatAreRepeatedForNothing) {
  const std::string expand = " <int64[2] shape = {4, 3}> {\n  e = Expand(r, shape)\n  y = ";
  const auto shortened = [&](const std::string& inputs, const std::string& op) {
    return AtLast("g (" + inputs + ") => (y)" + expand + op + "\n}").shortened();
  };
  EXPECT_EQ(shortened("float[1, 3] r, float[4, 3] x", "Add(x, e)"), "Add of x r");
  EXPECT_EQ(shortened("float[3] r, float[4, 1] x", "Mul(e, x)"), "Mul of r x");
  EXPECT_EQ(shortened("float[3] r, bool[3] x", "Where(x, e, r)"), "");  // Y would have one row
  EXPECT_EQ(shortened("float[3] r, float[3] x", "Add(x, e)"), "");
  EXPECT_EQ(shortened("float[3] r, float[4, 3] x", "PRelu(e, x)"), "");
  EXPECT_EQ(shortened("float[3] r, float[4, 3] x", "PRelu(x, e)"), "PRelu of x r");
  EXPECT_EQ(shortened("float[1, 3] r, float[3, 2] x", "MatMul(e, x)"), "");
}

TEST(SimplifyRules, MakeAProductOfASquare) {
  const auto shortened = [](const std::string& exponent, const std::string& x = "float[3]") {
    return AtLast("g (" + x + " x) => (y) <" + exponent + "> {\n  y = Pow(x, e)\n}").shortened();
  };
  EXPECT_EQ(shortened("float e = {2}"), "Mul of x x");
  EXPECT_EQ(shortened("int64[1] e = {2}"), "Mul of x x");
  EXPECT_EQ(shortened("float e = {2}", "int32[3]"), "Mul of x x");
  EXPECT_EQ(shortened("float e = {3}"), "");
  EXPECT_EQ(shortened("float[3] e = {2, 2, 1}"), "");
  EXPECT_EQ(shortened("float[1, 1] e = {2}"), "");  // Y has one axis more
}

TEST(SimplifyRules, ScatterRowsWhoseIndicesAreRepeated) {
  const auto shortened = [&](const std::string& indices, const std::string& axis) {
    return AtLast("g (float[5, 3] x, float[4, 3] u, int64" + indices +
                  " i) => (y) <int64[2] shape = {4, 3}> {\n  e = Expand(i, shape)\n"
                  "  y = ScatterElements <axis = " +
                  axis + ", reduction = \"add\"> (x, e, u)\n}")
        .shortened();
  };
  EXPECT_EQ(shortened("[4, 1]", "0"), "ScatterND of x i u");
  EXPECT_EQ(shortened("[4, 1]", "-2"), "ScatterND of x i u");
  EXPECT_EQ(shortened("[4, 1]", "1"), "");
  EXPECT_EQ(shortened("[1, 3]", "0"), "");
  EXPECT_EQ(shortened("[3]", "0"), "");
}

TEST(SimplifyRules, OpsAreInOnePlaceWhenAllTheirAnnotationsAre) {
  Op a{.spec = find_op("", "Relu")};
  Op b{.spec = find_op("", "Exp")};
  EXPECT_TRUE(in_same_place(a, b));
  set_attribute(a, "__ipu_number", std::int64_t{1});
  EXPECT_FALSE(in_same_place(a, b));
  set_attribute(b, "__ipu_number", std::int64_t{1});
  EXPECT_TRUE(in_same_place(a, b));
  set_attribute(b, "__execution_phase", std::int64_t{1});
  EXPECT_FALSE(in_same_place(a, b));
}

}  // namespace
}  // namespace podium::ir
