#include "ir/passes/merge_equal.h"

#include <gtest/gtest.h>

#include "ir/annotation.h"
#include "ir/builder.h"
#include "ir/ops/group_exchange.h"
#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using testing::graph_of;

TEST(MergeEqual, ComputesOnceWhatIsComputedTwice) {
  Graph graph = graph_of(
      "g (float[2] x) => (float[2] y) { a = Exp(x) b = Exp(x) c = Neg(b) d = Neg(a) y = Add(c, d) }");
  EXPECT_TRUE(merge_equal(graph));
  EXPECT_EQ(print(graph),
            "input x  # float[2]\n"
            "a = Exp(x)  # float[2]\n"
            "c = Neg(a)  # float[2]\n"
            "y = Add(c, c)  # float[2]\n"
            "output y\n");
  EXPECT_FALSE(merge_equal(graph));
}

TEST(MergeEqual, TellsOpsApartByAttributesAndInputs) {
  Graph graph = graph_of(
      "g (float[2,3] x) => (float[2,3] y) {"
      "a = Softmax<axis = 0>(x) b = Softmax<axis = 1>(x) c = Sub(a, b) d = Sub(b, a) y = Add(c, d) }");
  EXPECT_FALSE(merge_equal(graph));
}

TEST(MergeEqual, TellsZeroFromMinusZero) {
  Graph graph = graph_of(
      "g (float[2] x) => (float[2] y) { a = Elu<alpha = 0.0>(x) b = Elu<alpha = -0.0>(x) y = Add(a, b) }");
  EXPECT_FALSE(merge_equal(graph));
}

TEST(MergeEqual, MergesConstantsWithTheSameBytes) {
  Graph graph = graph_of(
      "g (float[2] x) => (float[2] y) <float[2] k = {1, 2}, float[2] l = {1, 2}, float[2] m = {1, 3}>"
      "{ a = Add(x, k) b = Add(x, l) c = Add(x, m) d = Mul(a, b) y = Mul(d, c) }");
  EXPECT_TRUE(merge_equal(graph));
  EXPECT_EQ(graph.ops.size(), 4U);
}

// Constants that begin alike are told apart by what comes behind.
TEST(MergeEqual, ComparesConstantsOfAMegabyte) {
  Graph graph = graph_of(
      "g (float[200000] x) => (float[200000] y) { a = Add(x, x) b = Add(x, x) c = Mul(x, x) y = Sum(a, b, c) }");
  std::vector<float> numbers(200000, 1);
  const ValueId k = graph.add_constant("k", Tensor::of<float>({200000}, numbers));
  const ValueId l = graph.add_constant("l", Tensor::of<float>({200000}, numbers));
  numbers.back() = 2;
  const ValueId m = graph.add_constant("m", Tensor::of<float>({200000}, numbers));
  graph.ops[0].inputs[1] = k;
  graph.ops[1].inputs[1] = l;
  graph.ops[2].inputs[1] = m;
  EXPECT_TRUE(merge_equal(graph));
  EXPECT_EQ(graph.ops.size(), 3U);
  EXPECT_EQ(graph.ops[1].inputs[1], m);
}

TEST(MergeEqual, KeepsTheNamesOfOutputs) {
  Graph graph = graph_of("g (float[2] x) => (float[2] y, float[2] z) { y = Exp(x) z = Exp(x) }");
  EXPECT_FALSE(merge_equal(graph));
}

TEST(MergeEqual, DrawsRandomNumbersAsOftenAsAsked) {
  Graph graph = graph_of(
      "g () => (float[2] y) { a = RandomNormal<shape = [2]>() b = RandomNormal<shape = [2]>() y = Sub(a, b) "
      "}");
  EXPECT_FALSE(merge_equal(graph));
}

Op exchange(Graph& graph, std::string_view kind, ValueId x, std::int64_t movement) {
  const Type type = graph[x].type;
  const std::string name = fmt::format("{}{}", kind, movement);
  const std::vector<ValueId> results{graph.add_value(name + "a", type), graph.add_value(name + "b", type)};
  Op op{.spec = find_op("podium", kind), .inputs = {x, x}, .outputs = results};
  set_attribute(op, std::string(kGroupProcessors), IntList{0, 1});
  if (kind == kGroupAllGather) set_attribute(op, "axis", std::int64_t{0});
  set_attribute(op, kMovement, movement);
  return op;
}

// What devices add up of the same parts; gathers again are made to keep less.
TEST(MergeEqual, AddsUpTheSamePartsOnceWhateverMovementTheyAreOf) {
  for (const auto& [kind, left] : {std::pair{kGroupAllReduce, 2U}, {kGroupAllGather, 3U}}) {
    Graph graph = graph_of("g (float[2] x) => (float[2] y) { y = Exp(x) }");
    const ValueId x = graph.inputs[0];
    for (std::int64_t movement : {1, 2}) graph.ops.push_back(exchange(graph, kind, x, movement));
    EXPECT_EQ(merge_equal(graph), kind == kGroupAllReduce);
    EXPECT_EQ(graph.ops.size(), left);
  }
}

TEST(MergeEqual, WorksInBodies) {
  Graph graph = graph_of(
      "g (bool c, float[2] x) => (float[2] y) {"
      "y = If(c) <then_branch = t () => (float[2] p) { a = Exp(x) b = Exp(x) p = Add(a, b) },"
      "           else_branch = e () => (float[2] q) { q = Neg(x) }> }");
  EXPECT_TRUE(merge_equal(graph));
  EXPECT_EQ((*attribute<Body>(graph.ops[0], "then_branch")).ops.size(), 2U);
}

TEST(MergeEqual, TakesNoLongerThanLinearTime) {
  Graph graph;
  Builder builder(graph);
  ValueId value = builder.input("x", Type::tensor(DataType::Float, {2}));
  constexpr int kPairs = 20000;
  for (int i = 0; i < kPairs; ++i)
    value = builder.op("Add", {builder.op("Exp", {value}), builder.op("Exp", {value})});
  builder.output(value);
  EXPECT_TRUE(merge_equal(graph));
  EXPECT_EQ(graph.ops.size(), 2U * kPairs);
}

}  // namespace
}  // namespace podium::ir
