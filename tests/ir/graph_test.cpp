#include "ir/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

using ::testing::ElementsAre;

Graph diamond() {
  return testing::graph_of(
      "g (float[2] x) => (float[2] y) { a = Neg(x) b = Exp(x) c = Add(a, b) y = Mul(c, c) }");
}

ValueId named(const Graph& graph, std::string_view name) {
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].name == name) return {static_cast<std::int32_t>(i)};
  }
  return kNoValue;
}

TEST(Graph, KnowsWhoProducesWhoReadsAndHowOften) {
  const Graph graph = diamond();
  const auto at = [&](std::string_view name) { return named(graph, name); };
  EXPECT_FALSE(producers(graph)[at("x")].valid());
  EXPECT_EQ(producers(graph)[at("c")], OpId{2});
  const Consumers readers = consumers(graph);
  const auto of = [&](std::string_view name) {
    const std::span<const OpId> all = readers[at(name)];
    return std::vector(all.begin(), all.end());
  };
  EXPECT_THAT(of("c"), ElementsAre(OpId{3}, OpId{3}));
  EXPECT_THAT(of("x"), ElementsAre(OpId{0}, OpId{1}));
  EXPECT_THAT(of("y"), ElementsAre());
  EXPECT_FALSE(readers.contains({static_cast<std::int32_t>(graph.values.size())}));
  EXPECT_EQ(use_counts(graph)[at("y")], 1);
  EXPECT_EQ(use_counts(graph)[at("c")], 2);
}

TEST(Graph, NamesPiecesAfterTheWhole) {
  Graph graph;
  const std::string part = graph.fresh_part_name("x");
  EXPECT_EQ(name_of_whole(part), "x");
  EXPECT_EQ(name_of_whole(graph.fresh_part_name(part)), "x");
  EXPECT_NE(part, graph.fresh_part_name("x"));
  for (const std::string name : {"x", "x:0", "x/part0", "x/part:", ":7", ""})
    EXPECT_EQ(name_of_whole(name), name);
}

TEST(Graph, GivesFreshNames) {
  Graph graph = diamond();
  const std::string first = graph.fresh_name("a");
  EXPECT_NE(first, graph.fresh_name("a"));
  EXPECT_FALSE(named(graph, first).valid());
}

TEST(Graph, DescribesAnOpByItsNameOrItsFirstOutput) {
  Graph graph = diamond();
  EXPECT_EQ(graph.describe(graph.ops[2]), "node 'c' (Add)");
  graph.ops[2].name = "sum";
  EXPECT_EQ(graph.describe(graph.ops[2]), "node 'sum' (Add)");
}

TEST(Graph, AttributesFallBackOnTheRow) {
  Graph graph = testing::graph_of("g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }");
  Op& op = graph.ops[0];
  EXPECT_EQ(attribute<std::int64_t>(op, "axis"), -1);
  set_attribute(op, "axis", std::int64_t{0});
  EXPECT_EQ(attribute<std::int64_t>(op, "axis"), 0);
  remove_attribute(op, "axis");
  EXPECT_EQ(attribute<std::int64_t>(op, "axis"), -1);
  EXPECT_EQ(find_attribute(op, "nothing"), nullptr);
}

}  // namespace
}  // namespace podium::ir
