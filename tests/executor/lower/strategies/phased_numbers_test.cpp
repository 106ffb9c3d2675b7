// What phased Programs compute is what one processor computes.
#include <gtest/gtest.h>

#include "executor/lower/lower.h"
#include "tests/support/layered.h"

namespace podium::testing {
namespace {

constexpr ir::TensorLocation kAllOffChip{.storage = ir::Storage::OffChip};

Strategy in_phases(const Layered& model, int stages) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::ExecutionPhases};
  strategy.phases.phases = model.layers;
  strategy.phases.stages = stages;
  strategy.weights.location = kAllOffChip;
  strategy.weights.min_elements_for_sharding = 2;
  return strategy;
}

void with_every_schedule(const Layered& model, Strategy strategy) {
  for (PhaseSchedule schedule :
       {PhaseSchedule::Interleaving, PhaseSchedule::Batch, PhaseSchedule::BatchClusteredIO}) {
    for (PhaseIo when : {PhaseIo::Preload, PhaseIo::OnDemand}) {
      strategy.phases.schedule = schedule;
      strategy.phases.weights = strategy.phases.activations = when;
      SCOPED_TRACE(::testing::Message() << "schedule " << static_cast<int>(schedule) << ", on demand "
                                        << static_cast<int>(when) << ", stages " << strategy.phases.stages);
      expect_same_numbers(model, strategy, strategy.phases.stages);
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
      Strategy strategy = in_phases(model, stages);
      strategy.activations.location = kAllOffChip;
      with_every_schedule(model, strategy);
      strategy.io_tiles = 32;
      strategy.activations.location.load_tiles = strategy.weights.location.load_tiles = ir::TileSet::IO;
      with_every_schedule(model, strategy);
    }
  }
}

TEST(PhasedNumbers, WithWeightsShardedOverReplicas) {
  for (const Layered& model : {mlp(4, 3), cnn(1)}) {
    for (int replicas : {2, 4}) {
      for (ir::Storage storage : {ir::Storage::OnChip, ir::Storage::OffChip}) {
        Strategy strategy = in_phases(model, 2);
        strategy.replicas = replicas;
        strategy.weights.location = {.storage = storage, .sharded = true};
        with_every_schedule(model, strategy);
      }
    }
  }
}

TEST(PhasedNumbers, WithWeightsShardedOverGroupsOfReplicas) {
  const Layered model = mlp(4, 2);
  for (ir::GroupType type : {ir::GroupType::Consecutive, ir::GroupType::Orthogonal}) {
    Strategy strategy = in_phases(model, 2);
    strategy.replicas = 4;
    strategy.weights.location = {.storage = ir::Storage::OffChip, .sharded = true, .domain = {type, 2}};
    expect_same_numbers(model, strategy, strategy.phases.stages);
  }
}

TEST(PhasedNumbers, WithSeveralBatchesAndOverlappedHostIo) {
  for (const Layered& model : {mlp(5, 3), cnn(2)}) {
    for (int stages : {1, 2}) {
      Strategy strategy = in_phases(model, stages);
      strategy.batches_per_step = 4;
      strategy.replicas = 2;
      strategy.activations.location = kAllOffChip;
      with_every_schedule(model, strategy);
      strategy.io_tiles = 32;
      strategy.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
      with_every_schedule(model, strategy);
    }
  }
}

TEST(PhasedNumbers, WithSeveralProcessorsAParity) {
  const Layered model = mlp(6, 3);
  ir::Placement placement = model.in_phases(2);
  placement.processors = 4;
  for (std::size_t i = 0; i < placement.ops.size(); ++i)
    placement.ops[i].processor += 2 * static_cast<int>(i % 2);
  Strategy strategy = in_phases(model, 2);
  strategy.activations.location = kAllOffChip;
  expect_near(run_on_random(lower::lower(model.graph, placement, strategy)),
              run_on_one_processor(model.graph, strategy));
}

TEST(RemoteNumbers, EveryStrategyRunsWithWeightsOffChipAndSharded) {
  const Layered model = mlp(4, 3);
  for (bool pipelining : {false, true}) {
    for (ir::Storage storage : {ir::Storage::OnChip, ir::Storage::OffChip}) {
      Strategy strategy = in_phases(model, 2);
      strategy.virtual_graph_mode = VirtualGraphMode::Manual;
      strategy.pipelining = pipelining;
      strategy.batches_per_step = 5;
      strategy.replicas = 2;
      strategy.io_tiles = 32;
      strategy.weights.location = {.storage = storage, .load_tiles = ir::TileSet::IO, .sharded = true};
      ir::Placement placement = model.in_phases(4);
      placement.stages = 4;
      for (ir::OpPlacement& op : placement.ops) op.stage = op.processor;
      expect_near(run_on_random(lower::lower(model.graph, placement, strategy)),
                  run_on_one_processor(model.graph, strategy));
    }
  }
}

}  // namespace
}  // namespace podium::testing
