// What phases cost: loads run beside the computation, and both readers of a Program count the same memory.
#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "executor/numeric/engine.h"
#include "executor/sim/simulate.h"
#include "tests/executor/lower/peak.h"
#include "tests/support/layered.h"

namespace podium::testing {
namespace {

Options cost_in_phases(const Layered& model, int stages) {
  Options options{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  options.phases.phases = model.layers;
  options.phases.stages = stages;
  options.weights.location.storage = ir::Storage::OffChip;
  return options;
}

executor::Program lowered(const Layered& model, const Options& options) {
  return lower::lower(model.graph, model.in_phases(options.phases.stages), options);
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
    Options options = cost_in_phases(products(), 1);
    options.io_tiles = 32;
    options.weights.location.load_tiles = ir::TileSet::IO;
    options.phases.schedule = schedule;
    const double beside = micros(lowered(products(), options));
    options.weights.location.load_tiles = ir::TileSet::Compute;
    const double one_after_the_other = micros(lowered(products(), options));
    EXPECT_NEAR(one_after_the_other, 1 + 8 * (10 + 10) + 1, 1e-6);
    EXPECT_NEAR(beside, 10 + 1 + 1 + 8 * 10 + 7 * 1 + 1, 1e-6);
    EXPECT_LT(beside, 0.9 * one_after_the_other);
  }
}

TEST(PhasedCost, OverlappedSlicesAreLoadedAndStoredBesideTheComputation) {
  const Layered model = mlp(3, 8);
  Options options = cost_in_phases(model, 1);
  options.weights.location.storage = ir::Storage::OnChip;
  options.io_tiles = 32;
  options.batch_serialization = {8, IoMode::Io};
  const double one_after_the_other = micros(lowered(model, options));
  options.batch_serialization.io_mode = IoMode::IoOverlapped;
  EXPECT_LT(micros(lowered(model, options)), 0.9 * one_after_the_other);
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
            Options options = cost_in_phases(model, stages);
            options.io_tiles = io_tiles;
            options.replicas = 2;
            options.batches_per_step = 2;
            options.activations.location.storage = ir::Storage::OffChip;
            options.weights.location.sharded = sharded;
            options.weights.min_elements_for_sharding = 2;
            if (io_tiles > 0) options.weights.location.load_tiles = ir::TileSet::IO;
            options.batch_serialization = {factor, mode};
            expect_one_peak(lowered(model, options));
          }
        }
      }
    }
  }
}

std::int64_t peak(const Layered& model, const Options& options) {
  numeric::Engine engine(lowered(model, options), {.threads = 1});
  run_on_random(engine);
  return engine.peak_bytes(0);
}

// The chip holds the weights of two phases at a time, and of a batch one slice.
TEST(PhasedCost, PhasesAndSlicesNeedLessMemory) {
  const Layered model = mlp(6, 8);
  constexpr std::int64_t kWeights = 4 * (37 * 37 + 37);
  constexpr std::int64_t kBatch = 4 * 8 * 37;
  Options options = cost_in_phases(model, 1);
  options.activations.location.storage = ir::Storage::OffChip;
  EXPECT_LE(peak(model, options), 2 * kWeights + 5 * kBatch);
  options.batch_serialization.factor = 8;
  EXPECT_LE(peak(model, options), 2 * kWeights + 5 * kBatch / 8);
}

}  // namespace
}  // namespace podium::testing
