// What phases cost: loads run beside the computation, and both readers of a Program count the same memory.
#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "executor/sim/simulate.h"
#include "tests/executor/lower/peak.h"
#include "tests/support/layered.h"

namespace podium::testing {
namespace {

Strategy cost_in_phases(const Layered& model, int stages) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases.phases = model.layers;
  strategy.phases.stages = stages;
  strategy.weights.location.storage = ir::Storage::OffChip;
  return strategy;
}

executor::Program lowered(const Layered& model, const Strategy& strategy) {
  return lower::lower(model.graph, model.in_phases(strategy.phases.stages), strategy);
}

// Microseconds when a block and a load or store of streaming memory take 10, everything else 1.
double micros(const executor::Program& program, SyncPattern sync = SyncPattern::Full) {
  sim::Costs costs;
  costs.blocks.resize(program.blocks.size());
  for (sim::BlockCost& block : costs.blocks) block.seconds = 10e-6;
  costs.movement = [](const executor::Step& step) {
    const bool is_remote = std::holds_alternative<executor::LoadRemote>(step.action) ||
                           std::holds_alternative<executor::StoreRemote>(step.action);
    return sim::StepCost{.seconds = is_remote ? 10e-6 : 1e-6};
  };
  return sim::simulate(program, device::Device{}, costs, {.sync = sync}).makespan * 1e6;
}

// Eight products of a weight each, without biases.
Layered products() {
  Layered model;
  Sketch sketch;
  ir::ValueId x = sketch.input({4, 6});
  for (; model.layers < 8; ++model.layers) {
    x = sketch.op("MatMul", {x, sketch.weight({6, 6})});
    model.layer_of_op.push_back(model.layers);
  }
  sketch.output(x);
  model.graph = std::move(sketch.graph);
  return model;
}

TEST(PhasedCost, PingPongLoadsOnOneProcessorWhileTheOtherComputesUnlessEveryoneSynchronises) {
  const executor::Program program = lowered(products(), cost_in_phases(products(), 2));
  const double full = micros(program, SyncPattern::Full);
  const double ladder = micros(program, SyncPattern::ReplicaAndLadder);
  EXPECT_NEAR(full, 1 + 8 * 10 + 8 * 10 + 7 * 1 + 1, 1e-6);
  EXPECT_NEAR(ladder, 1 + 10 + 8 * 10 + 7 * 1 + 1, 1e-6);
  EXPECT_LT(ladder, 0.8 * full);
}

TEST(PhasedCost, OnOneProcessorPreloadsOverTheIoTilesRunBesideTheComputation) {
  for (PhaseSchedule schedule :
       {PhaseSchedule::Interleaving, PhaseSchedule::Batch, PhaseSchedule::BatchClusteredIO}) {
    Strategy strategy = cost_in_phases(products(), 1);
    strategy.io_tiles = 32;
    strategy.weights.location.load_tiles = ir::TileSet::IO;
    strategy.phases.schedule = schedule;
    const double beside = micros(lowered(products(), strategy));
    strategy.weights.location.load_tiles = ir::TileSet::Compute;
    const double one_after_the_other = micros(lowered(products(), strategy));
    EXPECT_NEAR(one_after_the_other, 1 + 8 * (10 + 10) + 1, 1e-6);
    EXPECT_NEAR(beside, 10 + 1 + 1 + 8 * 10 + 7 * 1 + 1, 1e-6);
    EXPECT_LT(beside, 0.9 * one_after_the_other);
  }
}

TEST(PhasedCost, OverlappedSlicesAreLoadedAndStoredBesideTheComputation) {
  const Layered model = mlp(3, 8);
  Strategy strategy = cost_in_phases(model, 1);
  strategy.weights.location.storage = ir::Storage::OnChip;
  strategy.io_tiles = 32;
  strategy.batch_serialization = {8, IoMode::Io};
  const double one_after_the_other = micros(lowered(model, strategy));
  strategy.batch_serialization.io_mode = IoMode::IoOverlapped;
  EXPECT_LT(micros(lowered(model, strategy)), 0.9 * one_after_the_other);
}

void expect_one_peak(const executor::Program& program) {
  numeric::Engine engine(program, {.threads = 1});
  run_on_random(engine);
  testing::expect_the_simulators_peak(program, engine);
}

TEST(PhasedCost, TheEngineMeasuresThePeakThatTheSimulatorComputes) {
  const Layered model = mlp(6, 8);
  for (int stages : {1, 2}) {
    for (int io_tiles : {0, 32}) {
      for (IoMode mode : {IoMode::Compute, IoMode::Io, IoMode::IoOverlapped}) {
        for (int factor : {0, 4}) {
          for (bool sharded : {false, true}) {
            Strategy strategy = cost_in_phases(model, stages);
            strategy.io_tiles = io_tiles;
            strategy.replicas = 2;
            strategy.batches_per_step = 2;
            strategy.activations.location.storage = ir::Storage::OffChip;
            strategy.weights.location.sharded = sharded;
            strategy.weights.min_elements_for_sharding = 2;
            if (io_tiles > 0) strategy.weights.location.load_tiles = ir::TileSet::IO;
            strategy.batch_serialization = {factor, mode};
            expect_one_peak(lowered(model, strategy));
          }
        }
      }
    }
  }
}

std::int64_t peak(const Layered& model, const Strategy& strategy) {
  numeric::Engine engine(lowered(model, strategy), {.threads = 1});
  run_on_random(engine);
  return engine.peak_bytes(0);
}

// The chip holds the weights of two phases at a time, and of a batch one slice.
TEST(PhasedCost, PhasesAndSlicesNeedLessMemory) {
  const Layered model = mlp(6, 8);
  constexpr std::int64_t kWeights = 4 * (37 * 37 + 37);
  constexpr std::int64_t kBatch = 4 * 8 * 37;
  Strategy strategy = cost_in_phases(model, 1);
  strategy.activations.location.storage = ir::Storage::OffChip;
  EXPECT_LE(peak(model, strategy), 2 * kWeights + 5 * kBatch);
  strategy.batch_serialization.factor = 8;
  EXPECT_LE(peak(model, strategy), 2 * kWeights + 5 * kBatch / 8);
}

}  // namespace
}  // namespace podium::testing
