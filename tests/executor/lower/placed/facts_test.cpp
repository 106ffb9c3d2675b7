// How often a run takes what, by strategy.
#include "executor/lower/placed/facts.h"

#include <gtest/gtest.h>

#include "tests/executor/lower/placed_text.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::lower {
namespace {

PlacedGraph two_stages(bool trains) {
  testing::HandTrained written{.graph = testing::graph_of(R"(g (float[2] x, float[2] w) => (float[2] y) {
    h = Mul (x, w)
    y = Neg <__ipu_number = 1, __pipeline_stage = 1, __execution_phase = 1> (h)
  })")};
  if (trains) written.variables = {{"w", ir::VariableKind::Weight, testing::tensor<float>({2}, {1, 2})}};
  return testing::placed_graph(std::move(written));
}

// Three batches of four micro-batches, each in two slices.
Strategy busy() {
  Strategy strategy{.batches_per_step = 3, .accumulation_factor = 4};
  strategy.batch_serialization.factor = 2;
  return strategy;
}

void expect_runs(const Facts& facts, int batches, int cycles, int slices_in_phase) {
  EXPECT_EQ(facts.batches, batches);
  EXPECT_EQ(facts.cycles, cycles);
  EXPECT_EQ(facts.slices_in_phase, slices_in_phase);
}

TEST(Facts, WithoutVariablesARunIsOneBatch) { expect_runs(find_facts(two_stages(false), busy()), 1, 6, 1); }

TEST(Facts, UpdatesEndBatches) { expect_runs(find_facts(two_stages(true), busy()), 3, 8, 1); }

TEST(Facts, AStageThatUpdatesDoesSoInsideItsCycles) {
  Strategy strategy = busy();
  strategy.pipelining = true;
  EXPECT_FALSE(find_facts(two_stages(true), strategy).updates_in_stages);
  strategy.accumulation_factor = 1;
  EXPECT_FALSE(find_facts(two_stages(true), strategy).updates_in_stages) << "slices accumulate";
  strategy.batch_serialization = {};
  const Facts facts = find_facts(two_stages(true), strategy);
  EXPECT_TRUE(facts.updates_in_stages);
  EXPECT_EQ(facts.stages.count(), 2);
  expect_runs(facts, 1, 3, 1);
}

TEST(Facts, InPhasesMicroBatchesOfAnUpdateAreSlices) {
  Strategy strategy = busy();
  strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  EXPECT_TRUE(find_facts(two_stages(true), strategy).in_phases);
  expect_runs(find_facts(two_stages(true), strategy), 3, 1, 8);
  expect_runs(find_facts(two_stages(false), strategy), 1, 3, 2);
}

TEST(Facts, OnePhaseIsNoPhases) {
  Strategy strategy;
  strategy.virtual_graph_mode = VirtualGraphMode::ExecutionPhases;
  PlacedGraph placed = two_stages(false);
  placed.placement.phases = 1;
  EXPECT_FALSE(find_facts(placed, strategy).in_phases);
}

}  // namespace
}  // namespace podium::lower
