// From annotations to a Placement: inheritance, inferred stages, greedy phases.
#include "annotate/place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/ops/group_exchange.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"

namespace podium::annotate {
namespace {

using testing::graph_of;
using ::testing::HasSubstr;

// "a 0/1/0": what an op makes, and its processor, stage and phase.
std::string spots(const ir::Graph& graph, const ir::Placement& placement) {
  std::string text;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    const ir::OpPlacement& op = placement.ops[i];
    text += fmt::format("{}{} {}/{}/{}", text.empty() ? "" : ", ", graph[graph.ops[i].outputs[0]].name,
                        op.processor, op.stage, op.phase);
  }
  return text;
}

std::string spots(const ir::Graph& graph, const Request& request) {
  return spots(graph, place(graph, {}, request));
}

const char* const kStaged = R"(g (float[2] x, float[2] z) => (float[2] y) {
  a = Relu<__ipu_number=0, __pipeline_stage=0> (x)
  b = Relu<__ipu_number=1, __pipeline_stage=1> (a)
  c = Neg (z)
  d = Mul (a, b)
  y = Add<__ipu_number=0, __pipeline_stage=2> (d, c)
})";

TEST(Place, OffPutsEverythingOnOneProcessor) {
  const ir::Graph graph = graph_of(kStaged);
  EXPECT_EQ(spots(graph, Request{}), "a 0/0/0, b 0/0/0, c 0/0/0, d 0/0/0, y 0/0/0");
}

TEST(Place, OpsWithoutAnnotationFollowTheLastProducerElseTheFirstConsumer) {
  const ir::Graph graph = graph_of(kStaged);
  const ir::Placement placement = place(graph, {}, {.mode = Mode::Manual, .pipelining = true});
  EXPECT_EQ(spots(graph, placement), "a 0/0/0, b 1/1/0, c 0/2/0, d 1/1/0, y 0/2/0");
  EXPECT_EQ(placement.processors, 2);
  EXPECT_EQ(placement.stages, 3);
}

// Processor 2 gets all of y, which it has no op for.
TEST(Place, CountsTheMembersOfWhatAGroupExchanges) {
  ir::Graph graph = graph_of(
      "g (float[2] x, float[2] z) => (float[2] y) { a = Relu<__ipu_number=1> (x) y = Add<__ipu_number=1> (a, z) }");
  ir::Op& gather = graph.ops.back();
  gather.spec = ir::find_op("podium", ir::kGroupAllReduce);
  ir::set_attribute(gather, ir::kGroupProcessors, ir::IntList{1, 2});
  EXPECT_EQ(place(graph, {}, {.mode = Mode::Manual}).processors, 3);
}

TEST(Place, WithoutPipeliningStagesAreDropped) {
  const ir::Placement placement = place(graph_of(kStaged), {}, {.mode = Mode::Manual, .processors = 4});
  EXPECT_EQ(placement.stages, 1);
  EXPECT_EQ(placement.processors, 4);
}

TEST(Place, StagesAreInferredFromProcessors) {
  const ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] y) {
    a = Relu<virtualGraph=0> (x)
    b = Neg (a)
    y = Relu<virtualGraph=1> (b)
  })");
  EXPECT_EQ(spots(graph, {.mode = Mode::Manual, .pipelining = true}), "a 0/0/0, b 0/0/0, y 1/1/0");
}

TEST(Place, StagesThatHaveLostTheirOpsAreClosedUp) {
  const ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] y) {
    a = Relu<__ipu_number=0, __pipeline_stage=0> (x)
    y = Relu<__ipu_number=2, __pipeline_stage=2> (a)
  })");
  const ir::Placement placement = place(graph, {}, {.mode = Mode::Manual, .pipelining = true});
  EXPECT_EQ(spots(graph, placement), "a 0/0/0, y 2/1/0");
  EXPECT_EQ(placement.stages, 2);
}

TEST(Place, RefusesAStageThatDecreases) {
  const ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] y) {
    a = Relu<__ipu_number=1, __pipeline_stage=1> (x)
    y = Relu<__ipu_number=0, __pipeline_stage=0> (a)
  })");
  EXPECT_THAT(testing::refusal([&] { place(graph, {}, {.mode = Mode::Manual, .pipelining = true}); }),
              HasSubstr("tensor 'a' is consumed in an earlier pipeline stage"));
}

// Layers y = x * w + b with weights of 4 and 1 elements.
std::string layers(int count) {
  std::string weights;
  std::string nodes;
  for (int i = 0; i < count; ++i) {
    weights += fmt::format("{}float[4] w{} = {{1, 2, 3, 4}}, float[1] b{} = {{1}}", i == 0 ? "" : ", ", i, i);
    nodes += fmt::format("m{0} = Mul(x{0}, w{0}) x{1} = Add(m{0}, b{0}) ", i, i + 1);
  }
  return fmt::format("g (float[4] x0) => (float[4] x{}) <{}> {{ {} }}", count, weights, nodes);
}

TEST(Place, GreedyPhasesShareTheWeights) {
  EXPECT_EQ(spots(graph_of(layers(3)), {.mode = Mode::ExecutionPhases, .phases = 3}),
            "m0 0/0/0, x1 0/0/0, m1 1/0/1, x2 1/0/1, m2 0/0/2, x3 0/0/2");
  EXPECT_EQ(spots(graph_of(layers(3)), {.mode = Mode::ExecutionPhases, .phases = 3, .phase_stages = 1}),
            "m0 0/0/0, x1 0/0/0, m1 0/0/1, x2 0/0/1, m2 0/0/2, x3 0/0/2");
}

TEST(Place, PhasesWithoutVirtualGraphTakeTurnsAndOthersInherit) {
  const ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] y) {
    a = Relu<__execution_phase=0> (x)
    b = Relu<__execution_phase=1, __ipu_number=3> (a)
    c = Neg (b)
    y = Relu<executionPhase=2> (c)
  })");
  const ir::Placement placement = place(graph, {}, {.mode = Mode::ExecutionPhases, .phases = 5});
  EXPECT_EQ(spots(graph, placement), "a 0/0/0, b 3/0/1, c 3/0/1, y 0/0/2");
  EXPECT_EQ(placement.phases, 5);
  EXPECT_EQ(placement.processors, 4);
}

TEST(Place, CarriesWhatElseAnOpSays) {
  const ir::Graph graph = graph_of(R"(g (float[2] x) => (float[2] y) {
    y = Relu<__tile_set=1, __recompute_output_in_backward_pass=1, __schedule_priority=2.5,
             __output_tensor_location=[1,0,1,1,2,4]> (x)
  })");
  const ir::OpPlacement op = place(graph, {}, {}).ops[0];
  EXPECT_EQ(op.tiles, ir::TileSet::IO);
  EXPECT_EQ(op.recompute, ir::Recompute::Checkpoint);
  EXPECT_EQ(op.priority, 2.5F);
  const ir::TensorLocation expected{.storage = ir::Storage::OffChip,
                                    .storage_tiles = ir::TileSet::IO,
                                    .sharded = true,
                                    .domain = {ir::GroupType::Orthogonal, 4}};
  EXPECT_EQ(op.output_location, expected);
}

TEST(Place, CarriesWhatTheModelSaysOfItsInputsAndVariables) {
  const ir::Placement placement = place(graph_of(layers(1)),
                                        {{"__tile_set/x0", "1"},
                                         {"__exchange_strategy/x0", "2"},
                                         {"__replicated_stream_mode/x0", "1"},
                                         {"__comm_group_type/w0", "1"},
                                         {"__comm_group_size/w0", "2"}},
                                        {});
  const ir::InputPlacement& input = placement.inputs.at("x0");
  EXPECT_EQ(input.tiles, ir::TileSet::IO);
  EXPECT_EQ(input.exchange, ir::ExchangeStrategy::OverlapLoops);
  EXPECT_TRUE(input.broadcast);
  const ir::ReplicaGroup pairs{ir::GroupType::Consecutive, 2};
  EXPECT_EQ(placement.variable_groups.at("w0"), pairs);
}

}  // namespace
}  // namespace podium::annotate
