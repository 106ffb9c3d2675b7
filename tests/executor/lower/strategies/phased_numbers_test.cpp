// What phased Programs compute is what one processor computes.
#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "tests/support/layered.h"

namespace podium::testing {
namespace {

constexpr ir::TensorLocation kAllOffChip{.storage = ir::Storage::OffChip};

Options in_phases(const Layered& model, int stages) {
  Options options{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  options.phases.phases = model.layers;
  options.phases.stages = stages;
  options.weights.location = kAllOffChip;
  options.weights.min_elements_for_sharding = 2;
  return options;
}

void expect_same_numbers(const Layered& model, const Options& options) {
  const int processors = options.phases.stages;
  expect_near(run_on_random(lower::lower(model.graph, model.in_phases(processors), options)),
              run_on_one_processor(model.graph, options));
}

void with_every_schedule(const Layered& model, Options options) {
  for (PhaseSchedule schedule :
       {PhaseSchedule::Interleaving, PhaseSchedule::Batch, PhaseSchedule::BatchClusteredIO}) {
    for (PhaseIo when : {PhaseIo::Preload, PhaseIo::OnDemand}) {
      options.phases.schedule = schedule;
      options.phases.weights = options.phases.activations = when;
      SCOPED_TRACE(::testing::Message() << "schedule " << static_cast<int>(schedule) << ", on demand "
                                        << static_cast<int>(when) << ", stages " << options.phases.stages);
      expect_same_numbers(model, options);
    }
  }
}

TEST(PhasedNumbers, AreThoseOfOneProcessorInEverySchedule) {
  for (const Layered& model : {mlp(4, 3), cnn(2)}) {
    for (int stages : {1, 2}) with_every_schedule(model, in_phases(model, stages));
  }
}

TEST(PhasedNumbers, WithActivationsOffChipAndIoTiles) {
  for (const Layered& model : {mlp(6, 3), cnn(2)}) {
    for (int stages : {1, 2}) {
      Options options = in_phases(model, stages);
      options.activations.location = kAllOffChip;
      with_every_schedule(model, options);
      options.io_tiles = 32;
      options.activations.location.load_tiles = options.weights.location.load_tiles = ir::TileSet::IO;
      with_every_schedule(model, options);
    }
  }
}

TEST(PhasedNumbers, WithWeightsShardedOverReplicas) {
  for (const Layered& model : {mlp(4, 3), cnn(1)}) {
    for (int replicas : {2, 4}) {
      for (ir::Storage storage : {ir::Storage::OnChip, ir::Storage::OffChip}) {
        Options options = in_phases(model, 2);
        options.replicas = replicas;
        options.weights.location = {.storage = storage, .sharded = true};
        with_every_schedule(model, options);
      }
    }
  }
}

TEST(PhasedNumbers, WithWeightsShardedOverGroupsOfReplicas) {
  const Layered model = mlp(4, 2);
  for (ir::GroupType type : {ir::GroupType::Consecutive, ir::GroupType::Orthogonal}) {
    Options options = in_phases(model, 2);
    options.replicas = 4;
    options.weights.location = {.storage = ir::Storage::OffChip, .sharded = true, .domain = {type, 2}};
    expect_same_numbers(model, options);
  }
}

TEST(PhasedNumbers, WithSeveralBatchesAndOverlappedHostIo) {
  for (const Layered& model : {mlp(5, 3), cnn(2)}) {
    for (int stages : {1, 2}) {
      Options options = in_phases(model, stages);
      options.batches_per_step = 4;
      options.replicas = 2;
      options.activations.location = kAllOffChip;
      with_every_schedule(model, options);
      options.io_tiles = 32;
      options.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
      with_every_schedule(model, options);
    }
  }
}

TEST(PhasedNumbers, WithSeveralProcessorsAParity) {
  const Layered model = mlp(6, 3);
  ir::Placement placement = model.in_phases(2);
  placement.processors = 4;
  for (std::size_t i = 0; i < placement.ops.size(); ++i)
    placement.ops[i].processor += 2 * static_cast<int>(i % 2);
  Options options = in_phases(model, 2);
  options.activations.location = kAllOffChip;
  expect_near(run_on_random(lower::lower(model.graph, placement, options)),
              run_on_one_processor(model.graph, options));
}

TEST(RemoteNumbers, EveryStrategyRunsWithWeightsOffChipAndSharded) {
  const Layered model = mlp(4, 3);
  for (bool pipelining : {false, true}) {
    for (ir::Storage storage : {ir::Storage::OnChip, ir::Storage::OffChip}) {
      Options options = in_phases(model, 2);
      options.virtual_graph_mode = VirtualGraphMode::Manual;
      options.pipelining = pipelining;
      options.batches_per_step = 5;
      options.replicas = 2;
      options.io_tiles = 32;
      options.weights.location = {.storage = storage, .load_tiles = ir::TileSet::IO, .sharded = true};
      ir::Placement placement = model.in_phases(4);
      placement.stages = 4;
      for (ir::OpPlacement& op : placement.ops) op.stage = op.processor;
      expect_near(run_on_random(lower::lower(model.graph, placement, options)),
                  run_on_one_processor(model.graph, options));
    }
  }
}

}  // namespace
}  // namespace podium::testing
