#include "executor/session/read_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "executor/session/option_rows.h"
#include "executor/session/options_without_effect.h"
#include "ir/error.h"
#include "tests/support/refusal.h"

namespace podium {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Strategy read(const std::string& json) {
  Notes notes;
  Strategy strategy = read_options(json, "o.json", notes);
  EXPECT_THAT(notes, IsEmpty());
  return strategy;
}

std::string refusal(const std::string& json) {
  Notes notes;
  return testing::refusal([&] { read_options(json, "o.json", notes); });
}

TEST(ReadOptions, ReadsPlainOptions) {
  const Strategy strategy =
      read(R"({"virtualGraphMode": "Auto", "enablePipelining": true, "enableWeightStashing": true,
    "batchesPerStep": 6,
    "numIPUs": 8, "replicatedGraphCount": 2, "numIOTiles": 128, "syncPattern": "replicaAndLadder",
    "autoRecomputation": "NormOnly", "syntheticDataMode": "Zeros",
    "virtualGraphSplitRatios": [0.25, 0.75], "exchangeStrategy": "OverlapLoops"})");
  EXPECT_EQ(strategy.virtual_graph_mode, VirtualGraphMode::Auto);
  EXPECT_TRUE(strategy.pipelining);
  EXPECT_TRUE(strategy.weight_stashing);
  EXPECT_EQ(strategy.batches_per_step, 6);
  EXPECT_EQ(strategy.ipus, 8);
  EXPECT_EQ(strategy.replicas, 2);
  EXPECT_EQ(strategy.io_tiles, 128);
  EXPECT_EQ(strategy.sync, SyncPattern::ReplicaAndLadder);
  EXPECT_EQ(strategy.recomputation, Recomputation::NormOnly);
  EXPECT_EQ(strategy.synthetic_data, SyntheticData::Zeros);
  EXPECT_THAT(strategy.virtual_graph_split_ratios, ElementsAre(0.25, 0.75));
  EXPECT_EQ(strategy.overlap_io, ir::ExchangeStrategy::OverlapLoops);
}

TEST(ReadOptions, ReadsNestedSettings) {
  const Strategy strategy = read(R"({
    "executionPhaseSettings": {"phases": 4, "stages": 1, "weightIOSchedule": "OnDemand", "schedule": "BatchClusteredIO"},
    "batchSerializationSettings": {"factor": 4, "ioMode": "IOOverlapped"},
    "weightTensorLocationSettings": {
      "location": {"storage": "OffChip", "loadTileSet": "IO", "replicatedTensorSharding": "On",
                   "shardingDomain": {"type": "Consecutive", "replicaGroupSize": 2}},
      "minElementsForOffChip": 10, "minElementsForReplicatedTensorSharding": 20},
    "tensorLocationSettingsOverride": {"w": {"storage": "OffChip"}}})");
  EXPECT_EQ(strategy.phases.phases, 4);
  EXPECT_EQ(strategy.phases.stages, 1);
  EXPECT_EQ(strategy.phases.weights, PhaseIo::OnDemand);
  EXPECT_EQ(strategy.phases.activations, PhaseIo::Preload);
  EXPECT_EQ(strategy.phases.schedule, PhaseSchedule::BatchClusteredIO);
  EXPECT_EQ(strategy.batch_serialization.factor, 4);
  EXPECT_EQ(strategy.batch_serialization.io_mode, IoMode::IoOverlapped);
  const ir::TensorLocation& location = strategy.weights.location;
  EXPECT_EQ(location.storage, ir::Storage::OffChip);
  EXPECT_EQ(location.load_tiles, ir::TileSet::IO);
  EXPECT_EQ(location.storage_tiles, ir::TileSet::Compute);
  EXPECT_TRUE(location.sharded);
  EXPECT_EQ(location.domain, (ir::ReplicaGroup{ir::GroupType::Consecutive, 2}));
  EXPECT_EQ(strategy.weights.min_elements_for_off_chip, 10);
  EXPECT_EQ(strategy.weights.min_elements_for_sharding, 20);
  EXPECT_EQ(strategy.location_overrides.at("w").storage, ir::Storage::OffChip);
}

TEST(ReadOptions, ReadsAnchorsAsAWordOrInFull) {
  const Strategy strategy = read(R"({"anchors": {"y": "sum",
    "z": {"returnType": "EveryN", "returnPeriod": 2, "tileSet": "IO", "exchangeStrategy": "OverlapInnerLoop"}}})");
  EXPECT_EQ(strategy.anchors.at("y").returns, AnchorReturn::Sum);
  const Anchor& z = strategy.anchors.at("z");
  EXPECT_EQ(z.returns, AnchorReturn::EveryN);
  EXPECT_EQ(z.every, 2);
  EXPECT_EQ(z.tiles, ir::TileSet::IO);
  EXPECT_EQ(z.exchange, ir::ExchangeStrategy::OverlapInnerLoop);
}

TEST(ReadOptions, ReadsTrainingOptions) {
  const Strategy strategy = read(R"({"enableGradientAccumulation": true, "accumulationFactor": 8,
    "accumulationAndReplicationReductionType": "Mean", "meanAccumulationAndReplicationReductionStrategy": "Running",
    "automaticLossScalingSettings": {"enabled": true, "binEdgeLocation": 0.25, "updatePeriod": 5,
      "gradientTensorTrackingMethod": "GradientsOfUserSpecifiedTensors", "toTrackTensors": ["a", "b"]}})");
  EXPECT_EQ(strategy.accumulation_factor, 8);
  EXPECT_EQ(strategy.reduction, Reduction::Mean);
  EXPECT_EQ(strategy.mean_strategy, MeanStrategy::Running);
  EXPECT_TRUE(strategy.loss_scaling.automatic);
  EXPECT_EQ(strategy.loss_scaling.bin_edge, 0.25);
  EXPECT_EQ(strategy.loss_scaling.period, 5);
  EXPECT_EQ(strategy.loss_scaling.tracking, GradientTracking::OfTensors);
  EXPECT_EQ(strategy.loss_scaling.tensors, (std::vector<std::string>{"a", "b"}));
}

TEST(ReadOptions, KeepsNothingPackedUnlessItIsToldTo) {
  EXPECT_FALSE(read(R"({"cachePath": "here"})").cache.enabled);
  EXPECT_TRUE(read(R"({"enableEngineCaching": true})").cache.enabled);
  EXPECT_EQ(read(R"({"enableEngineCaching": true})").cache.folder(), "session_cache");
  EXPECT_EQ(read(R"({"enableEngineCaching": true, "cachePath": "here"})").cache.folder(), "here");
}

TEST(ReadOptions, LeavesWhatTheDocumentDoesNotName) {
  Notes notes;
  const Strategy strategy =
      read_options(R"({"batchesPerStep": 3})", "flags", notes, {.ipus = 4, .replicas = 2});
  EXPECT_EQ(strategy.ipus, 4);
  EXPECT_EQ(strategy.replicas, 2);
  EXPECT_EQ(strategy.batches_per_step, 3);
}

TEST(ReadOptions, ASwitchThatIsOffResetsItsCount) {
  Notes notes;
  EXPECT_EQ(read_options(R"({"enableReplicatedGraphs": false})", "flags", notes, {.replicas = 4}).replicas,
            1);
}

TEST(ReadOptions, NotesOnceWhatHasNoEffect) {
  Notes notes;
  read_options(R"({"logDir": "/tmp", "dotChecks": [], "batchSerializationSettings": {"method": "Loop"}})",
               "o.json", notes);
  EXPECT_THAT(notes, ElementsAre("o.json: no effect on a simulated device: batchSerializationSettings.method "
                                 "(slices are always a loop)",
                                 "o.json: no effect on a simulated device: dotChecks, logDir (debugging of "
                                 "PopART)"));
}

TEST(ReadOptions, KnowsHowProductsSumUp) {
  EXPECT_EQ(read(R"({"partialsTypeMatMuls": ""})").matmuls.partials, Partials::Float);
  EXPECT_EQ(read(R"({"partialsTypeMatMuls": "float"})").matmuls.partials, Partials::Float);
  EXPECT_EQ(read(R"({"partialsTypeMatMuls": "half"})").matmuls.partials, Partials::Half);
  EXPECT_EQ(read(R"({"matmulOptions": {"partialsType": "half"}})").matmuls.partials, Partials::Half);
  const Strategy both =
      read(R"({"convolutionOptions": {"partialsType": "half", "availableMemoryProportion": "0.25"},
               "lstmOptions": {"availableMemoryProportion": 0.5}})");
  EXPECT_EQ(both.convolutions.partials, Partials::Half);
  EXPECT_EQ(both.convolutions.available_memory, 0.25);
  EXPECT_EQ(both.recurrent.available_memory, 0.5);
  EXPECT_EQ(
      refusal(R"({"partialsTypeMatMuls": "half", "matmulOptions": {"partialsType": "float"}})"),
      "o.json: matmulOptions.partialsType: \"float\" found beside partialsTypeMatMuls \"half\", one of both "
      "needed");
  EXPECT_EQ(
      refusal(R"({"convolutionOptions": {"availableMemoryProportion": "1.5"}})"),
      "o.json: convolutionOptions.availableMemoryProportion: \"1.5\" found, a share of a tile's memory above "
      "0 and at most 1 needed");
}

TEST(ReadOptions, SaysThatOneProcessIsNoPartOfMany) {
  Notes notes;
  read_options(R"({"globalReplicationFactor": 4})", "o.json", notes, {});
  EXPECT_THAT(
      notes,
      ElementsAre("o.json: globalReplicationFactor: no effect without enableDistributedReplicatedGraphs"));
}

TEST(ReadOptions, RefusesWithPlaceFindingAndNeed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"enablePipelinin": true})",
       "o.json: unknown option 'enablePipelinin', the nearest is 'enablePipelining'"},
      {R"({"executionPhaseSettings": {"phasez": 2}})",
       "o.json: executionPhaseSettings: unknown option 'phasez', the nearest is 'phases'"},
      {R"({"executionPhaseSettings": 2})", "o.json: executionPhaseSettings: 2 found, an object needed"},
      {R"({"enablePipelining": 1})", "o.json: enablePipelining: 1 found, true or false needed"},
      {R"({"batchesPerStep": 0})", "o.json: batchesPerStep: 0 found, a whole number of at least 1 needed"},
      {R"({"batchesPerStep": "4"})",
       "o.json: batchesPerStep: \"4\" found, a whole number of at least 1 needed"},
      {R"({"batchesPerStep": 1.5})",
       "o.json: batchesPerStep: 1.5 found, a whole number of at least 1 needed"},
      {R"({"numIPUs": 99999999999999999999})",
       "o.json: numIPUs: 1e+20 found, a whole number of at least 0 needed"},
      {R"({"virtualGraphMode": "Manuel"})",
       "o.json: virtualGraphMode: \"Manuel\" found, one of Off, Manual, Auto, "
       "ExecutionPhases needed, the nearest is 'Manual'"},
      {R"({"weightTensorLocationSettings": {"location": {"storage": "Offchop"}}})",
       "o.json: weightTensorLocationSettings.location.storage: \"Offchop\" found, one of OnChip, OffChip "
       "needed, "
       "the nearest is 'OffChip'"},
      {R"({"partialsTypeMatMuls": "halv"})",
       "o.json: partialsTypeMatMuls: \"halv\" found, one of float, half needed, the nearest is 'half'"},
      {R"({"anchors": {"y": "EveryN"}})",
       "o.json: anchors.y: \"EveryN\" found, a returnPeriod beside EveryN needed"},
      {R"({"anchors": {"y": {"returnType": "Sum", "returnPeriod": 2}}})",
       "o.json: anchors.y: {\"returnPeriod\":2,\"returnType\":\"Sum\"} found, a returnPeriod only with "
       "EveryN needed"},
      {R"({"anchors": {"y": {"returnType": "EveryN", "returnPeriod": 0}}})",
       "o.json: anchors.y.returnPeriod: 0 found, a whole number of at least 1 needed"},
      {R"({"enableReplicatedGraphs": false, "replicatedGraphCount": 2})",
       "o.json: replicatedGraphCount: 2 found, 1 needed because enableReplicatedGraphs is false"},
      {R"({"enableGradientAccumulation": false, "accumulationFactor": 4})",
       "o.json: accumulationFactor: 4 found, 1 needed because enableGradientAccumulation is false"},
      {R"({"bufferingDepthMap": {"x": 2}, "prefetchBufferingDepthMap": {"x": 2}})",
       "o.json: prefetchBufferingDepthMap: found beside bufferingDepthMap, only one of both needed"},
      {R"({"enableDistributedReplicatedGraphs": true, "replicatedGraphCount": 2, "globalReplicationFactor": 4})",
       "o.json: enableDistributedReplicatedGraphs: 2 of 4 replicas found here, all of them needed: one "
       "process simulates "
       "them with replicatedGraphCount 4"},
      {R"({"enableDistributedReplicatedGraphs": true, "replicatedGraphCount": 4, "globalReplicationFactor": 2})",
       "o.json: globalReplicationFactor: 2 found, at least globalReplicaOffset 0 and replicatedGraphCount 4 "
       "needed"},
      {R"({"globalReplicaOffset": -1})",
       "o.json: globalReplicaOffset: -1 found, a whole number of at least 0 needed"},
      {R"({"bufferingDepthMap": {"x": 0}})",
       "o.json: bufferingDepthMap.x: 0 found, a whole number of at least 1 needed"},
      {R"({"cachePath": ""})", "o.json: cachePath: \"\" found, a folder needed"},
      {R"({"cachePath": 3})", "o.json: cachePath: 3 found, a folder needed"},
      {R"({"enableOutlining": "no"})", "o.json: enableOutlining: \"no\" found, true or false needed"},
      {R"({"gclOptions": []})", "o.json: gclOptions: [] found, an object needed"},
      {R"({"numIPUs": 2, "numIPUs": 4})", "o.json: 'numIPUs' found twice in one object"},
      {R"([])", "o.json: [] found, an object needed"},
  };
  for (const auto& [json, message] : cases) EXPECT_EQ(refusal(json), message);
}

TEST(OptionRows, HaveEachNameOnce) {
  std::set<std::string_view> names;
  for (const Row<Strategy>& row : option_rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  for (const OptionWithoutEffect& row : options_without_effect()) {
    EXPECT_TRUE(names.insert(row.path).second) << row.path;
    EXPECT_FALSE(row.reason.empty()) << row.path;
  }
}

TEST(OptionRows, HaveFlagsThatSayWhatHoldsWithoutThem) {
  std::set<std::string_view> names;
  for (const BoundFlag& bound : option_flags()) {
    EXPECT_TRUE(names.insert(bound.flag.name).second) << bound.flag.name;
    const bool is_told = bound.flag.help.find("default: ") != std::string_view::npos;
    EXPECT_NE(bound.fallback.is_null(), !is_told) << bound.path;
    const bool takes_words = bound.value == FlagValue::Word || bound.value == FlagValue::WordOrFile;
    EXPECT_EQ(takes_words, !bound.words.empty()) << bound.path;
    EXPECT_NE(bound.value, FlagValue::None) << bound.path;
  }
  EXPECT_TRUE(names.contains("phases"));
}

TEST(WriteOptions, WritesWhatReadOptionsReads) {
  const char* const document = R"({
    "numIPUs": 8, "virtualGraphMode": "Auto", "virtualGraphSplitRatios": [0.25, 0.75], "enablePipelining": true,
    "enableWeightStashing": true, "batchesPerStep": 6, "accumulationFactor": 3, "replicatedGraphCount": 2,
    "enableGradientAccumulation": true, "enableReplicatedGraphs": true,
    "executionPhaseSettings": {"phases": 4, "stages": 1, "weightIOSchedule": "OnDemand"},
    "batchSerializationSettings": {"factor": 4, "ioMode": "IOOverlapped"},
    "weightTensorLocationSettings": {"location": {"storage": "OffChip", "replicatedTensorSharding": "On",
      "shardingDomain": {"type": "Consecutive", "replicaGroupSize": 2}}, "minElementsForOffChip": 10},
    "autoRecomputation": "NormOnly", "numIOTiles": 128, "exchangeStrategy": "OverlapLoops",
    "syncPattern": "ReplicaAndLadder", "accumulationAndReplicationReductionType": "Mean",
    "meanAccumulationAndReplicationReductionStrategy": "Running",
    "automaticLossScalingSettings": {"enabled": true, "binEdgeLocation": 0.25, "toTrackTensors": ["a"]},
    "syntheticDataMode": "Zeros", "partialsTypeMatMuls": "half", "constantWeights": false,
    "anchors": {"y": {"returnType": "EveryN", "returnPeriod": 2}, "z": {"returnType": "Sum", "tileSet": "IO"}}})";
  EXPECT_EQ(write_options(read(document)), nlohmann::json::parse(document));
  const Strategy overridden = read(R"({"tensorLocationSettingsOverride": {"w": {"storage": "OffChip"}}})");
  Notes notes;
  EXPECT_EQ(read_option_document(write_options(overridden), "o.json", notes).location_overrides.at("w"),
            overridden.location_overrides.at("w"));
  EXPECT_EQ(write_options({}), nlohmann::json::object());
}

TEST(WriteOptions, WritesOnlyWhatDiffers) {
  EXPECT_EQ(write_options({.ipus = 4, .replicas = 1}, {.ipus = 4, .replicas = 2}),
            nlohmann::json::parse(R"({"replicatedGraphCount": 1, "enableReplicatedGraphs": false})"));
}

TEST(ReadOptions, OneNameMayStandInSeveralObjects) {
  EXPECT_EQ(read(R"({"weightTensorLocationSettings": {"minElementsForOffChip": 1},
                     "activationTensorLocationSettings": {"minElementsForOffChip": 3}})")
                .activations.min_elements_for_off_chip,
            3);
}

TEST(ReadOptions, NamesTheLineOfASyntaxError) {
  EXPECT_THAT(refusal("{\"batchesPerStep\": 2,\n \"numIPUs\" 4}\n"),
              ::testing::StartsWith("o.json: line 2: "));
  EXPECT_THAT(refusal(""), ::testing::StartsWith("o.json: line 1: "));
}

}  // namespace
}  // namespace podium
