#include "executor/session/check_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/error.h"
#include "tests/support/refusal.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Strategy check(const Strategy& strategy, Notes& notes, Task task = Task::Inference) {
  return check_options(strategy, {.name = "pod", .processors = 16, .tiles = 1472}, task, notes);
}

std::string refusal(const Strategy& strategy, Task task = Task::Inference) {
  Notes notes;
  return testing::refusal([&] { check(strategy, notes, task); });
}

Strategy anchored(Strategy strategy, AnchorReturn returns, int every = 1) {
  strategy.anchors["y"] = {.returns = returns, .every = every};
  return strategy;
}

TEST(CheckOptions, RefusesWhatDoesNotGoTogether) {
  using enum VirtualGraphMode;
  const std::pair<Strategy, const char*> cases[] = {
      {{.virtual_graph_mode = Manual, .phases = {.phases = 4}},
       "executionPhaseSettings.phases 4 needs virtualGraphMode ExecutionPhases, Manual found"},
      {{.virtual_graph_mode = Auto, .weight_stashing = true},
       "enableWeightStashing needs enablePipelining (--pipeline): only stages that overlap meet weights of several "
       "versions"},
      {{.pipelining = true},
       "enablePipelining needs virtualGraphMode Manual or Auto (--virtual-graph-mode auto), Off found"},
      {{.virtual_graph_mode = VirtualGraphMode::Auto,
        .pipelining = true,
        .pipeline_order = PipelineOrder::Chimera,
        .reduction = Reduction::Mean,
        .mean_strategy = MeanStrategy::Running},
       "pipelineSchedule Chimera needs meanAccumulationAndReplicationReductionStrategy Post, Running found: each "
       "copy of the model counts its own micro-batches"},
      {{.virtual_graph_mode = ExecutionPhases, .pipelining = true, .phases = {.phases = 2}},
       "enablePipelining needs virtualGraphMode Manual or Auto, ExecutionPhases found: a processor either is "
       "a stage or takes turns with the phases"},
      {anchored({.batches_per_step = 4}, AnchorReturn::EveryN, 3),
       "anchor 'y': a period of 3 found, one that divides batchesPerStep 4 needed"},
      {{.recomputation = Recomputation::Pipeline},
       "autoRecomputation Pipeline needs enablePipelining (--pipeline)"},
      {{.overlap_io = ir::ExchangeStrategy::OverlapLoops},
       "exchangeStrategy other than JustInTime needs a virtualGraphMode, Off found"},
      {{.virtual_graph_mode = Auto, .overlap_io = ir::ExchangeStrategy::OverlapStep},
       "exchangeStrategy OverlapStep is not supported, OverlapLoops overlaps the most"},
      {{.io_tiles = 33}, "numIOTiles 33 found, an even number of at least 32 needed"},
      {{.io_tiles = 30}, "numIOTiles 30 found, an even number of at least 32 needed"},
      {{.virtual_graph_mode = Auto, .io_tiles = 1472},
       "numIOTiles: 1472 found, fewer than the 1472 tiles of a processor of device 'pod' needed"},
      {{.virtual_graph_mode = Auto, .batch_serialization = {.factor = 2, .io_mode = IoMode::IoOverlapped}},
       "batchSerializationSettings.ioMode IOOverlapped needs numIOTiles of at least 32 and a "
       "virtualGraphMode, 0 and Auto found"},
      {{.virtual_graph_mode = Auto, .ipus = 6, .replicas = 4},
       "numIPUs 6 found, a multiple of replicatedGraphCount 4 needed"},
      {{.ipus = 4, .replicas = 2},
       "virtualGraphMode Off needs a processor a replica: numIPUs 4 found, replicatedGraphCount 2"},
      {{.virtual_graph_mode = Auto, .ipus = 32}, "numIPUs: 32 found, device 'pod' has 16"},
      {{.replicas = 4, .weights = {.location = {.sharded = true, .domain = {ir::GroupType::Consecutive, 3}}}},
       "shardingDomain: groups of 3 replicas found, a size that divides replicatedGraphCount 4 needed"},
      {{.replicas = 4,
        .location_overrides = {{"w", {.sharded = true, .domain = {ir::GroupType::Orthogonal, 3}}}}},
       "tensorLocationSettingsOverride 'w': shardingDomain: groups of 3 replicas found, a size that divides "
       "replicatedGraphCount 4 needed"},
      {{.virtual_graph_split_ratios = {0.5, 0.5}}, "virtualGraphSplitRatios needs virtualGraphMode Auto"},
      {{.virtual_graph_mode = Auto, .virtual_graph_split_ratios = {0.5, 0.25}},
       "virtualGraphSplitRatios: a sum of 0.75 found, 1 needed"},
      {{.virtual_graph_mode = Auto, .virtual_graph_split_ratios = {1.5, -0.5}},
       "virtualGraphSplitRatios: 1.5 found, a number in (0, 1] needed"},
      {{.virtual_graph_mode = Auto, .virtual_graph_split_ratios = {0.5, 0.5}, .ipus = 3},
       "virtualGraphSplitRatios: 2 ratios found, 3 needed: one a processor of a replica"},
      {{.accumulation_factor = 4},
       "accumulationFactor: 4 found, 1 needed: gradient accumulation is only available when training"},
      {{.loss_scaling = {.automatic = true}},
       "automaticLossScalingSettings.enabled: true found, loss scaling is only available when training"},
  };
  for (const auto& [strategy, message] : cases) EXPECT_EQ(refusal(strategy), message);
}

TEST(CheckOptions, AcceptsAccumulationWhenTraining) {
  EXPECT_EQ(refusal({.accumulation_factor = 4, .loss_scaling = {.automatic = true}}, Task::Training), "");
}

TEST(CheckOptions, AcceptsRatiosThatSumUpToOneAsDecimals) {
  EXPECT_EQ(
      refusal({.virtual_graph_mode = VirtualGraphMode::Auto, .virtual_graph_split_ratios = {0.1, 0.2, 0.7}}),
      "");
  EXPECT_EQ(refusal({.virtual_graph_mode = VirtualGraphMode::Auto,
                     .virtual_graph_split_ratios = {0.333, 0.333, 0.333}}),
            "");
}

TEST(CheckOptions, TurnsOffShardingOfOneReplica) {
  Notes notes;
  const Strategy strategy = check({.weights = {.location = {.sharded = true}}}, notes);
  EXPECT_FALSE(strategy.weights.location.sharded);
  EXPECT_THAT(notes, ElementsAre("replicatedTensorSharding of weights: no effect, there is one replica"));
}

TEST(CheckOptions, NeverShardsActivations) {
  Notes notes;
  const Strategy strategy = check({.replicas = 2, .activations = {.location = {.sharded = true}}}, notes);
  EXPECT_FALSE(strategy.activations.location.sharded);
  EXPECT_THAT(
      notes,
      ElementsAre("replicatedTensorSharding of activations: no effect, activations are never sharded"));
}

TEST(CheckOptions, WithoutIoTilesEverythingIsOnComputeTiles) {
  Notes notes;
  const Strategy strategy =
      check({.weights = {.location = {.load_tiles = ir::TileSet::IO}}, .io_tiles = 64}, notes);
  EXPECT_EQ(strategy.io_tiles, 0);
  EXPECT_EQ(strategy.weights.location.load_tiles, ir::TileSet::Compute);
  EXPECT_THAT(notes, ElementsAre("numIOTiles: no effect with virtualGraphMode Off"));
}

TEST(CheckOptions, SaysThatNothingOverlapsWithoutIoTiles) {
  Notes notes;
  const Strategy strategy = check(
      {.virtual_graph_mode = VirtualGraphMode::Auto, .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop},
      notes);
  EXPECT_EQ(strategy.overlap_io, ir::ExchangeStrategy::JustInTime);
  EXPECT_THAT(notes, ElementsAre("exchangeStrategy: nothing overlaps without numIOTiles"));
}

TEST(CheckOptions, SaysThatOnePhaseIsNone) {
  Notes notes;
  check({.virtual_graph_mode = VirtualGraphMode::ExecutionPhases, .phases = {.phases = 1}}, notes);
  EXPECT_THAT(notes, ElementsAre("virtualGraphMode ExecutionPhases: no effect with fewer than 2 phases"));
}

TEST(CheckOptions, SaysThatSettingsOfPhasesNeedPhases) {
  Notes notes;
  check({.phases = {.weights = PhaseIo::OnDemand}}, notes);
  EXPECT_THAT(notes, ElementsAre("executionPhaseSettings: no effect with fewer than 2 phases"));
}

TEST(CheckOptions, SaysThatInPhasesOnlySlicesOverlap) {
  Notes notes;
  const Strategy strategy = check({.virtual_graph_mode = VirtualGraphMode::ExecutionPhases,
                                   .phases = {.phases = 2},
                                   .batch_serialization = {.factor = 2},
                                   .io_tiles = 32,
                                   .overlap_io = ir::ExchangeStrategy::OverlapLoops},
                                  notes);
  EXPECT_EQ(strategy.overlap_io, ir::ExchangeStrategy::JustInTime);
  EXPECT_THAT(notes,
              ElementsAre("exchangeStrategy: no effect in phases with batchSerializationSettings, whose "
                          "ioMode IOOverlapped overlaps the slices"));
}

TEST(CheckOptions, SaysThatNothingOverlapsInTheLoopsOfPhases) {
  Notes notes;
  check({.virtual_graph_mode = VirtualGraphMode::ExecutionPhases,
         .accumulation_factor = 3,
         .phases = {.phases = 2},
         .io_tiles = 32,
         .overlap_io = ir::ExchangeStrategy::OverlapInnerLoop},
        notes, Task::Training);
  EXPECT_THAT(notes,
              ElementsAre("exchangeStrategy: no effect in phases with accumulationFactor 3: every phase has "
                          "a loop over its micro-batches"));
}

TEST(CheckOptions, SaysWhichTileSetsOfALocationActOnNothing) {
  Strategy strategy{.virtual_graph_mode = VirtualGraphMode::Auto, .io_tiles = 32};
  strategy.weights.location = {.storage = ir::Storage::OffChip, .storage_tiles = ir::TileSet::IO};
  strategy.activations.location = {.load_tiles = ir::TileSet::IO};
  Notes notes;
  check(strategy, notes);
  EXPECT_THAT(notes, ElementsAre("storageTileSet of weights: no effect off chip",
                                 "loadTileSet of activations: no effect on chip, nothing is loaded"));
}

TEST(CheckOptions, SaysWhereNobodySynchronises) {
  Notes notes;
  check({.sync = SyncPattern::ReplicaAndLadder}, notes);
  EXPECT_THAT(notes, ElementsAre("syncPattern: no effect on one processor"));
  notes.clear();
  check_options({.replicas = 2, .sync = SyncPattern::SinglePipeline},
                {.name = "node", .processors = 8, .tiles = 1, .synchronous = false}, Task::Inference, notes);
  EXPECT_THAT(notes, ElementsAre("syncPattern: no effect on a device that is not synchronous"));
}

TEST(CheckOptions, SaysThatAnIoModeNeedsAFactor) {
  Notes notes;
  check({.batch_serialization = {.io_mode = IoMode::Io}}, notes);
  EXPECT_THAT(notes,
              ElementsAre("batchSerializationSettings.ioMode: no effect without a factor of at least 2"));
}

TEST(CheckOptions, SaysThatSettingsOfWhatIsOffDoNothing) {
  Notes notes;
  const Strategy strategy = check({.location_overrides = {{"w", {.sharded = true}}, {"v", {}}},
                                   .mean_strategy = MeanStrategy::Running,
                                   .loss_scaling = {.period = 3}},
                                  notes, Task::Training);
  EXPECT_FALSE(strategy.location_overrides.at("w").sharded);
  EXPECT_THAT(
      notes,
      ElementsAre(
          "tensorLocationSettingsOverride 'w': replicatedTensorSharding has no effect, there is one replica",
          "meanAccumulationAndReplicationReductionStrategy: no effect with "
          "accumulationAndReplicationReductionType Sum",
          "automaticLossScalingSettings: no effect without enabled"));
}

TEST(CheckOptions, SaysWhatOnlyTrainingUses) {
  const Strategy strategy{.optimizer_state = {.location = {.storage = ir::Storage::OffChip}},
                          .recomputation = Recomputation::Standard};
  Notes notes;
  check(strategy, notes);
  EXPECT_THAT(notes, ElementsAre("autoRecomputation: no effect without training",
                                 "optimizerStateTensorLocationSettings: no effect without training"));
  notes.clear();
  check(strategy, notes, Task::Training);
  EXPECT_THAT(notes, IsEmpty());
}

TEST(CheckOptions, TurnsOffWhatOnlyTrainingUses) {
  Notes notes;
  const Strategy strategy = check({.optimizer_state = {.location = {.storage = ir::Storage::OffChip}},
                                   .recomputation = Recomputation::Standard,
                                   .reduction = Reduction::Mean},
                                  notes);
  EXPECT_EQ(strategy.optimizer_state.location, ir::TensorLocation{});
  EXPECT_EQ(strategy.recomputation, Recomputation::None);
  EXPECT_EQ(strategy.reduction, Reduction::Sum);
  EXPECT_THAT(notes, ElementsAre("autoRecomputation: no effect without training",
                                 "accumulationAndReplicationReductionType: no effect without training",
                                 "optimizerStateTensorLocationSettings: no effect without training"));
}

TEST(CheckOptions, SaysWhereWeightsHaveOneVersionAnyway) {
  Strategy strategy{
      .virtual_graph_mode = VirtualGraphMode::Auto, .pipelining = true, .weight_stashing = true};
  Notes notes;
  EXPECT_TRUE(check(strategy, notes, Task::Training).weight_stashing);
  EXPECT_THAT(notes, IsEmpty());
  check(strategy, notes);
  EXPECT_THAT(notes, ElementsAre("enableWeightStashing: no effect without training"));
  notes.clear();
  strategy.accumulation_factor = 4;
  EXPECT_FALSE(check(strategy, notes, Task::Training).weight_stashing);
  EXPECT_THAT(
      notes, ElementsAre("enableWeightStashing: no effect with accumulationFactor 4, the pipeline runs empty "
                         "before an update"));
}

TEST(CheckOptions, DefaultsAreLegalAndSilent) {
  Notes notes;
  check({}, notes);
  EXPECT_THAT(notes, IsEmpty());
}

std::string placement_refusal(const Strategy& strategy, const ir::Placement& placement) {
  return testing::refusal([&] { check_placement(strategy, placement, {.name = "pod", .processors = 4}); });
}

TEST(CheckPlacement, NeedsItsProcessors) {
  EXPECT_EQ(placement_refusal({.ipus = 4, .replicas = 2}, {.ops = {}, .processors = 4}),
            "4 processors found (numIPUs), 8 needed: 4 a replica, replicatedGraphCount 2");
  EXPECT_EQ(placement_refusal({}, {.ops = {}, .processors = 5}),
            "4 processors found (device 'pod'), 5 needed: 5 a replica, replicatedGraphCount 1");
  EXPECT_EQ(placement_refusal({.replicas = 2}, {.ops = {}, .processors = 2}), "");
}

}  // namespace
}  // namespace podium
