// Phased Programs: what moves in which phase, and in which order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "executor/lower/lower.h"
#include "tests/support/graph_text.h"

namespace podium::lower {
namespace {

using executor::Program;
using executor::Step;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A chain of `layers` products with a weight each, one a phase, and its placement over `stages` processors.
struct Chain {
  ir::Graph graph;
  ir::Placement placement;
};

Chain chain(int layers, int stages) {
  std::string text = "g (float[2, 2] x0) => (float[2, 2] y) <float[2, 2] w0 = {1, 2, 3, 4}";
  for (int i = 1; i < layers; ++i) text += fmt::format(", float[2, 2] w{} = {{1, 2, 3, {}}}", i, i);
  text += "> {\n";
  for (int i = 0; i < layers; ++i) {
    text += fmt::format("{} = MatMul(x{}, w{})\n", i + 1 == layers ? "y" : fmt::format("x{}", i + 1), i, i);
  }
  Chain made{testing::graph_of(text + "}"), {}};
  made.placement.processors = stages;
  made.placement.phases = layers;
  for (int i = 0; i < layers; ++i) made.placement.ops.push_back({.processor = i % stages, .phase = i});
  return made;
}

Strategy phases(int count, int stages, PhaseSchedule schedule = PhaseSchedule::Interleaving) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases = {.phases = count, .stages = stages, .schedule = schedule};
  strategy.weights.location.storage = ir::Storage::OffChip;
  return strategy;
}

// Steps in order, as text.
std::vector<std::string> lines(const Program& program) {
  std::vector<std::string> found;
  for (const Step& step : program.steps) found.push_back(print(program, step));
  return found;
}

// How many steps with `text` follow the compute of each phase, and precede the next; phase -1 is before all.
// In the schedule Batch that is where the loads and stores of a phase are.
std::map<int, int> per_phase(const Program& program, const std::string& text) {
  std::map<int, int> found;
  int phase = -1;
  for (const std::string& line : lines(program)) {
    if (line.find("compute") == 0) ++phase;
    if (line.find(text) == 0) ++found[phase];
  }
  return found;
}

TEST(Phased, PingPongPreloadsOnOneProcessorWhileTheOtherComputes) {
  const Chain model = chain(3, 2);
  const Program program = lower(model.graph, model.placement, phases(3, 2));
  EXPECT_THAT(lines(program),
              ElementsAre("load w0@0.streaming -> w0__l0@0",                      //
                          "load w1@1.streaming -> w1__l0@1",                      //
                          "load x0@0 from host",                                  //
                          "compute phase0 on ipu 0: (x0@0, w0__l0@0) -> (x1@0)",  //
                          "copy x1@0 -> x1@1",                                    //
                          "load w2@0.streaming -> w2__l0@0",                      //
                          "compute phase1 on ipu 1: (x1@1, w1__l0@1) -> (x2@1)",  //
                          "copy x2@1 -> x2@0",                                    //
                          "compute phase2 on ipu 0: (x2@0, w2__l0@0) -> (y@0)",   //
                          "store y@0 to host"));
}

TEST(Phased, OnOneProcessorTheIoTilesLoadBesideTheComputation) {
  const Chain model = chain(2, 1);
  Strategy strategy = phases(2, 1);
  strategy.io_tiles = 32;
  strategy.weights.location.load_tiles = ir::TileSet::IO;
  EXPECT_THAT(lines(lower(model.graph, model.placement, strategy)),
              ElementsAre("load w0@0.streaming -> w0__l0@0.io",                   //
                          "tiles w0__l0@0.io -> w0__l0@0",                        //
                          "load w1@0.streaming -> w1__l0@0.io",                   //
                          "load x0@0 from host",                                  //
                          "compute phase0 on ipu 0: (x0@0, w0__l0@0) -> (x1@0)",  //
                          "tiles w1__l0@0.io -> w1__l0@0",                        //
                          "compute phase1 on ipu 0: (x1@0, w1__l0@0) -> (y@0)",   //
                          "store y@0 to host"));
}

TEST(Phased, OnDemandLoadsAreInThePhaseThatNeedsThem) {
  const Chain model = chain(2, 1);
  Strategy strategy = phases(2, 1);
  strategy.phases.weights = PhaseIo::OnDemand;
  EXPECT_THAT(lines(lower(model.graph, model.placement, strategy)),
              ElementsAre("load w0@0.streaming -> w0__l0@0",                      //
                          "load x0@0 from host",                                  //
                          "compute phase0 on ipu 0: (x0@0, w0__l0@0) -> (x1@0)",  //
                          "load w1@0.streaming -> w1__l0@0",                      //
                          "compute phase1 on ipu 0: (x1@0, w1__l0@0) -> (y@0)",   //
                          "store y@0 to host"));
}

TEST(Phased, ShardedWeightsAreGatheredAfterTheirLoad) {
  const Chain model = chain(2, 2);
  Strategy strategy = phases(2, 2);
  strategy.replicas = 2;
  strategy.weights.location.sharded = true;
  strategy.weights.min_elements_for_sharding = 2;
  const Program program = lower(model.graph, model.placement, strategy);
  const std::vector<std::string> all = lines(program);
  EXPECT_THAT(std::vector(all.begin(), all.begin() + 4),
              ElementsAre("load w0@0.streaming -> w0__l0@0", "all-gather w0__l0@0 -> w0__g0@0",
                          "load w1@1.streaming -> w1__l0@1", "all-gather w1__l0@1 -> w1__g0@1"));
  EXPECT_THAT(print(program), HasSubstr("buffer w0__l0: 1 x float[2] on ipu 0 compute"));
}

TEST(Phased, ShardedWeightsOnTheChipAreOnlyGathered) {
  const Chain model = chain(2, 2);
  Strategy strategy = phases(2, 2);
  strategy.replicas = 2;
  strategy.weights.location = {.sharded = true};
  strategy.weights.min_elements_for_sharding = 2;
  EXPECT_EQ(lines(lower(model.graph, model.placement, strategy)).front(), "all-gather w0@0 -> w0__g0@0");
}

TEST(Phased, EachWeightIsLoadedOnceInThePhaseBeforeItsOwn) {
  const int n = 8;
  const Chain model = chain(n, 1);
  Strategy strategy = phases(n, 1, PhaseSchedule::Batch);
  strategy.io_tiles = 192;
  strategy.activations.location.storage = ir::Storage::OffChip;
  strategy.weights.location.load_tiles = strategy.activations.location.load_tiles = ir::TileSet::IO;
  const Program program = lower(model.graph, model.placement, strategy);
  std::map<int, int> once;
  for (int phase = -1; phase <= n - 2; ++phase) once[phase] = 1;
  EXPECT_EQ(per_phase(program, "load w"), once);
  EXPECT_EQ(per_phase(program, "tiles"), once);
  EXPECT_EQ(per_phase(program, "load x"), (std::map<int, int>{{-1, 1}}));  // from the host
  EXPECT_EQ(per_phase(program, "store x"), (std::map<int, int>{}));
}

// x1 is used in phase 1 and again in the phase of `y`, the last.
Chain with_a_skip(int layers) {
  Chain model = chain(layers, 1);
  ir::Graph& graph = model.graph;
  graph.ops.back().inputs[1] = graph.ops.front().outputs[0];
  return model;
}

TEST(Phased, AnActivationLeavesTheChipOverAGapOfThreePhases) {
  Strategy strategy = phases(6, 1, PhaseSchedule::Batch);
  strategy.activations.location.storage = ir::Storage::OffChip;
  const Chain near = with_a_skip(4);  // phases 1 and 3
  EXPECT_EQ(per_phase(lower(near.graph, near.placement, strategy), "store x1"), (std::map<int, int>{}));
  const Chain far = with_a_skip(5);  // phases 1 and 4
  const Program program = lower(far.graph, far.placement, strategy);
  EXPECT_EQ(per_phase(program, "store x1"), (std::map<int, int>{{1, 1}}));
  EXPECT_EQ(per_phase(program, "load x1"), (std::map<int, int>{{3, 1}}));
}

TEST(Phased, AnOpMayAskForItsOutputToLeaveTheChip) {
  Chain far = with_a_skip(5);
  far.placement.ops[0].output_location = ir::TensorLocation{.storage = ir::Storage::OffChip};
  const Program program = lower(far.graph, far.placement, phases(5, 1, PhaseSchedule::Batch));
  EXPECT_EQ(per_phase(program, "store x1"), (std::map<int, int>{{1, 1}}));
}

TEST(Phased, WithoutOffChipActivationsNothingIsStored) {
  const Chain far = with_a_skip(6);
  EXPECT_EQ(per_phase(lower(far.graph, far.placement, phases(6, 1)), "store x"), (std::map<int, int>{}));
}

TEST(Phased, InTheScheduleBatchClusteredIoLoadsComeFirst) {
  const Chain model = chain(2, 2);
  const Program program = lower(model.graph, model.placement, phases(2, 2, PhaseSchedule::BatchClusteredIO));
  EXPECT_THAT(lines(program), ElementsAre(HasSubstr("load w0"), HasSubstr("load w1"), HasSubstr("from host"),
                                          HasSubstr("compute phase0"), HasSubstr("copy"),
                                          HasSubstr("compute phase1"), HasSubstr("to host")));
}

TEST(Phased, SeveralProcessorsOfAParityWorkInTurnAndCopyWithinThePhase) {
  Chain model = chain(4, 2);
  model.placement.processors = 4;
  model.placement.phases = 2;
  for (int i = 0; i < 4; ++i) model.placement.ops[i] = {.processor = i / 2 + 2 * (i % 2), .phase = i / 2};
  const Program program = lower(model.graph, model.placement, phases(2, 2, PhaseSchedule::Batch));
  EXPECT_THAT(
      lines(program),
      ElementsAre("load w0@0.streaming -> w0__l0@0, w1@2.streaming -> w1__l0@2", HasSubstr("from host"),
                  HasSubstr("compute phase0.ipu0.0"), "copy x1@0 -> x1@2",
                  "load w2@1.streaming -> w2__l0@1, w3@3.streaming -> w3__l0@3",
                  HasSubstr("compute phase0.ipu2.1"), "copy x2@2 -> x2@1", HasSubstr("compute phase1.ipu1.2"),
                  "copy x3@1 -> x3@3", HasSubstr("compute phase1.ipu3.3"), HasSubstr("to host")));
}

TEST(Phased, TheChipHoldsAWeightOnlyUntilItsPhaseIsOver) {
  const Chain model = chain(3, 1);
  const Program program = lower(model.graph, model.placement, phases(3, 1));
  std::vector<std::string> freed;
  for (const Step& step : program.steps) {
    for (const executor::Slot& slot : step.frees) freed.push_back(program[slot.buffer].name);
  }
  EXPECT_THAT(freed, ElementsAre("w0__l0", "x0", "w1__l0", "x1", "w2__l0", "x2", "y"));
}

TEST(Phased, TheWholeSequenceIsRepeatedForEveryBatch) {
  const Chain model = chain(2, 2);
  Strategy strategy = phases(2, 2);
  strategy.batches_per_step = 3;
  const Program program = lower(model.graph, model.placement, strategy);
  EXPECT_THAT(lines(program), ElementsAre("repeat 3 times"));
}

TEST(Remote, AnOverrideDecidesForItsTensorAlone) {
  const Chain model = chain(3, 1);
  Strategy strategy = phases(3, 1);
  strategy.weights.location.storage = ir::Storage::OnChip;
  strategy.location_overrides["w1"].storage = ir::Storage::OffChip;
  const std::string text = print(lower(model.graph, model.placement, strategy));
  EXPECT_THAT(text, HasSubstr("w1: 1 x float[2,2] on ipu 0 streaming"));
  EXPECT_THAT(text, HasSubstr("w0: 1 x float[2,2] on ipu 0 compute"));
  EXPECT_THAT(text, HasSubstr("w2: 1 x float[2,2] on ipu 0 compute"));
}

TEST(Remote, EveryStrategyBringsWeightsBeforeTheirUse) {
  const Chain model = chain(2, 2);
  Strategy strategy;
  strategy.weights.location.storage = ir::Storage::OffChip;
  EXPECT_THAT(lines(lower(model.graph, model.placement, strategy)),
              ElementsAre("load w0@0.streaming -> w0__l0@0", HasSubstr("from host"),
                          HasSubstr("compute part0"), "load w1@1.streaming -> w1__l0@1", HasSubstr("copy"),
                          HasSubstr("compute part1"), HasSubstr("to host")));
}

}  // namespace
}  // namespace podium::lower
