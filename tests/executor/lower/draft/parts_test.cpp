#include "executor/lower/draft/parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> names(const ir::Graph& graph, const std::vector<ir::ValueId>& ids) {
  std::vector<std::string> found;
  for (ir::ValueId id : ids) found.push_back(graph[id].name);
  return found;
}

std::vector<std::string> op_types(const Part& part) {
  std::vector<std::string> found;
  for (const ir::Op& op : part.graph.ops) found.emplace_back(op.spec->name);
  return found;
}

const ir::Graph& two_branches() {
  static const ir::Graph kGraph = testing::graph_of(R"(g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
    a = Relu(x)
    b = Add(x, w)
    c = Neg(a)
    d = Mul(b, w)
    y = Sub(c, d)
  })");
  return kGraph;
}

TEST(Parts, StayInAGroupAsLongAsTheOrderAllows) {
  const std::vector<Part> parts = make_parts(two_branches(), {0, 1, 0, 1, 0}, false);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_THAT(op_types(parts[0]), ElementsAre("Relu", "Neg"));
  EXPECT_THAT(op_types(parts[1]), ElementsAre("Add", "Mul"));
  EXPECT_THAT(op_types(parts[2]), ElementsAre("Sub"));
  EXPECT_EQ(parts[1].group, 1);
}

TEST(Parts, ReadAndWriteOnlyWhatCrosses) {
  const ir::Graph& graph = two_branches();
  const std::vector<Part> parts = make_parts(graph, {0, 1, 0, 1, 0}, false);
  EXPECT_THAT(names(graph, parts[0].reads), ElementsAre("x"));
  EXPECT_THAT(names(graph, parts[0].writes), ElementsAre("c"));
  EXPECT_THAT(names(graph, parts[1].weights), ElementsAre("w"));
  EXPECT_THAT(names(graph, parts[2].reads), ElementsAre("c", "d"));
  EXPECT_THAT(names(graph, parts[2].writes), ElementsAre("y"));
}

TEST(Parts, AreGraphsOfTheirOwn) {
  for (const Part& part : make_parts(two_branches(), {0, 1, 0, 1, 0}, false)) {
    EXPECT_NO_THROW(ir::verify(part.graph));
    EXPECT_EQ(part.graph.inputs.size(), part.reads.size());
    EXPECT_EQ(part.graph.outputs.size(), part.writes.size());
  }
}

TEST(Parts, TakeStreamedWeightsAsReads) {
  const ir::Graph& graph = two_branches();
  const auto parts =
      make_parts(graph, {0, 0, 0, 0, 0}, false, [&](ir::ValueId id) { return graph[id].name == "w"; });
  ASSERT_EQ(parts.size(), 1U);
  EXPECT_THAT(names(graph, parts[0].reads), ElementsAre("x", "w"));
  EXPECT_THAT(parts[0].weights, IsEmpty());
  EXPECT_FALSE(parts[0].graph[parts[0].graph.inputs[1]].constant.has_value());
}

TEST(Parts, RefuseWholeGroupsThatNeedEachOther) {
  EXPECT_EQ(make_parts(two_branches(), {0, 0, 1, 0, 1}, true).size(), 2U);
  EXPECT_THROW(make_parts(two_branches(), {0, 1, 0, 1, 0}, true), InternalError);
}

}  // namespace
}  // namespace podium::lower
