#include "ir/passes/inherit_placement.h"

#include <gtest/gtest.h>

#include "tests/support/graph_text.h"

namespace podium::ir {
namespace {

Graph two_stages() {
  Graph graph = testing::graph_of(
      "g (float[2] x) => (float[2] y) {\n"
      "  a = Exp <__ipu_number = 0, __pipeline_stage = 0> (x)\n"
      "  y = Neg <__ipu_number = 1, __pipeline_stage = 2, __recompute_output_in_backward_pass = 2> (a)\n}");
  graph.ops[0].name = "first";
  graph.ops[1].name = "second";
  return graph;
}

// The graph with an op behind it that computes a gradient of `of`.
std::string grown_from(const Graph& graph, OpId of, const WayBack& way) {
  Graph grown;
  Op op{.spec = find_op("", "Neg")};
  inherit_placement(graph[of], op, way);
  const std::string name = op.name;
  op.inputs = {grown.add_value("in", Type::tensor(DataType::Float, {2}))};
  op.outputs = {grown.add_value("out", Type::tensor(DataType::Float, {2}))};
  grown.inputs = op.inputs;
  grown.outputs = op.outputs;
  grown.ops.push_back(std::move(op));
  return name + "\n" + print(grown);
}

TEST(InheritPlacement, GoesBackThroughTheStages) {
  const Graph graph = two_stages();
  const WayBack way = way_back(graph.ops, graph.ops.back());
  EXPECT_EQ(way.last_stage, 4);
  EXPECT_FALSE(way.last_phase.has_value());
  EXPECT_EQ(grown_from(graph, {0}, way),
            "first_gradient\n"
            "input in  # float[2]\n"
            "out = Neg(in) {__ipu_number=0, __pipeline_stage=4}  # float[2]\n"
            "output out\n");
}

// What it makes is kept, since the forward op is there to be computed again.
TEST(InheritPlacement, KeepsWhatIsMadeForAnOpThatIsComputedAgain) {
  const Graph graph = two_stages();
  EXPECT_EQ(grown_from(graph, {1}, way_back(graph.ops, graph.ops.back())),
            "second_gradient\n"
            "input in  # float[2]\n"
            "out = Neg(in) {__ipu_number=1, __pipeline_stage=2, __recompute_output_in_backward_pass=1}  "
            "# float[2]\n"
            "output out\n");
}

TEST(InheritPlacement, CountsPhasesFromTheHighestThatIsNamed) {
  const Graph graph = testing::graph_of(
      "g (float[2] x) => (float[2] y) {\n"
      "  a = Exp <__execution_phase = 1> (x)\n  y = Neg <executionPhase = 3> (a)\n}");
  const WayBack way = way_back(graph.ops, graph.ops.back());
  EXPECT_EQ(way.last_phase, 6);
  EXPECT_EQ(grown_from(graph, {0}, way),
            "a_gradient\n"
            "input in  # float[2]\n"
            "out = Neg(in) {__execution_phase=5}  # float[2]\n"
            "output out\n");
}

TEST(PlaceOf, TellsWhereAnOpRunsAndNothingElse) {
  const Graph graph = two_stages();
  const std::vector<Attribute> place = place_of(graph.ops.back());
  ASSERT_EQ(place.size(), 2U);
  EXPECT_EQ(place_suffix(place), "_VGraph1_PStage2");
  EXPECT_EQ(place_suffix({}), "");
}

}  // namespace
}  // namespace podium::ir
