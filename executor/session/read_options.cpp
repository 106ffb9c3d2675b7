#include "executor/session/read_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "executor/session/json_rows.h"

namespace podium {
namespace {

using nlohmann::json;

// Of a member that is an object itself.
template <auto member, auto& rows>
void object(ObjectOf<member>& target, const Place& place) {
  using Value = typename MemberOf<decltype(member)>::Value;
  read_object<Value>(target.*member, place, rows);
}

template <class T>
void by_name(std::map<std::string, T>& target, const Place& place, void (*read)(T&, const Place&)) {
  for (const auto& [name, value] : object_of(place).items()) read(target[name], place.at(name, value));
}

enum class Shape : std::uint8_t { Truth, Number, Text, List, Object, Any };

void check_shape(const Place& place, Shape shape) {
  const json& value = place.value;
  switch (shape) {
    case Shape::Truth:
      return value.is_boolean() ? void() : place.refuse("true or false");
    case Shape::Number:
      return value.is_number() ? void() : place.refuse("a number");
    case Shape::Text:
      return value.is_string() ? void() : place.refuse("a text");
    case Shape::List:
      return value.is_array() ? void() : place.refuse("a list");
    case Shape::Object:
      return value.is_object() ? void() : place.refuse("an object");
    case Shape::Any:
      return;
  }
}

// Of a name that is known but says nothing to a simulated device.
template <class T, Shape shape>
void ignored(T& /*target*/, const Place& place) {
  check_shape(place, shape);
  place.ignored.push_back(place.path);
}

constexpr std::array<Row<ir::ReplicaGroup>, 2> kDomainRows{{
    {"type", word<&ir::ReplicaGroup::type>},
    {"replicaGroupSize", whole<&ir::ReplicaGroup::size>},
}};

// PopART's enumeration has On and Off.
void read_sharding(ir::TensorLocation& location, const Place& place) {
  if (place.value.is_boolean()) return truth<&ir::TensorLocation::sharded>(location, place);
  location.sharded = word_index_of(place, {"Off", "On"}) == 1;
}

constexpr std::array<Row<ir::TensorLocation>, 5> kLocationRows{{
    {"storage", word<&ir::TensorLocation::storage>},
    {"loadTileSet", word<&ir::TensorLocation::load_tiles>},
    {"storageTileSet", word<&ir::TensorLocation::storage_tiles>},
    {"replicatedTensorSharding", read_sharding},
    {"shardingDomain", object<&ir::TensorLocation::domain, kDomainRows>},
}};

constexpr std::array<Row<LocationSettings>, 3> kLocationSettingsRows{{
    {"location", object<&LocationSettings::location, kLocationRows>},
    {"minElementsForOffChip", whole<&LocationSettings::min_elements_for_off_chip>},
    {"minElementsForReplicatedTensorSharding", whole<&LocationSettings::min_elements_for_sharding>},
}};

constexpr std::array<Row<PhaseSettings>, 7> kPhaseRows{{
    {"phases", whole<&PhaseSettings::phases>},
    {"stages", whole<&PhaseSettings::stages, 1>},
    {"weightIOSchedule", word<&PhaseSettings::weights>},
    {"activationIOSchedule", word<&PhaseSettings::activations>},
    {"optimizerStateIOSchedule", word<&PhaseSettings::optimizer_state>},
    {"accumulatorIOSchedule", word<&PhaseSettings::accumulators>},
    {"schedule", word<&PhaseSettings::schedule>},
}};

constexpr std::array<Row<BatchSerialization>, 8> kBatchRows{{
    {"factor", whole<&BatchSerialization::factor>},
    {"ioMode", word<&BatchSerialization::io_mode>},
    {"concatOnVirtualGraphChange", ignored<BatchSerialization, Shape::Truth>},
    {"concatOnExecutionPhaseChange", ignored<BatchSerialization, Shape::Truth>},
    {"concatOnPipelineStageChange", ignored<BatchSerialization, Shape::Truth>},
    {"transformContext", ignored<BatchSerialization, Shape::Text>},
    {"method", ignored<BatchSerialization, Shape::Text>},
    {"batchSchedule", ignored<BatchSerialization, Shape::Text>},
}};

void read_tracked_tensors(LossScaling& scaling, const Place& place) {
  if (!place.value.is_array()) place.refuse("an array of names of tensors");
  scaling.tensors.clear();
  for (const json& name : place.value) {
    const Place at = place.at("[]", name);
    if (!name.is_string()) at.refuse("the name of a tensor");
    scaling.tensors.push_back(name.get<std::string>());
  }
}

constexpr std::array<Row<LossScaling>, 6> kLossScalingRows{{
    {"enabled", truth<&LossScaling::automatic>},
    {"binEdgeLocation", number<&LossScaling::bin_edge>},
    {"thresholdUpperCountProportion", number<&LossScaling::upper_proportion>},
    {"updatePeriod", whole<&LossScaling::period, 1>},
    {"toTrackTensors", read_tracked_tensors},
    {"gradientTensorTrackingMethod", word<&LossScaling::tracking>},
}};

constexpr std::array<Row<Anchor>, 4> kAnchorRows{{
    {"returnType", word<&Anchor::returns>},
    {"returnPeriod", whole<&Anchor::every, 1>},
    {"tileSet", word<&Anchor::tiles>},
    {"exchangeStrategy", word<&Anchor::exchange>},
}};

void read_anchor(Anchor& anchor, const Place& place) {
  anchor = {};
  if (place.value.is_string()) {
    word<&Anchor::returns>(anchor, place);
  } else {
    read_object<Anchor>(anchor, place, kAnchorRows);
  }
  const bool has_period = place.value.is_object() && place.value.contains("returnPeriod");
  if (anchor.returns == AnchorReturn::EveryN && !has_period) place.refuse("a returnPeriod beside EveryN");
  if (anchor.returns != AnchorReturn::EveryN && has_period) place.refuse("a returnPeriod only with EveryN");
}

void read_anchors(Options& options, const Place& place) { by_name(options.anchors, place, read_anchor); }

void read_overrides(Options& options, const Place& place) {
  by_name<ir::TensorLocation>(options.location_overrides, place,
                              [](ir::TensorLocation& location, const Place& at) {
                                read_object<ir::TensorLocation>(location, at, kLocationRows);
                              });
}

// Of a value that no reader of a Program looks at: it is checked and named in the note.
template <auto read>
void without_effect(Options& options, const Place& place) {
  read(options, place);
  place.ignored.push_back(place.path);
}

void check_depths(Options& /*options*/, const Place& place) {
  for (const auto& [stream, depth] : object_of(place).items()) {
    whole_number_of(place.at(stream, depth), 1, std::numeric_limits<int>::max());
  }
}

void read_split_ratios(Options& options, const Place& place) {
  if (!place.value.is_array()) place.refuse("an array of numbers");
  options.virtual_graph_split_ratios.clear();
  for (const json& ratio : place.value)
    options.virtual_graph_split_ratios.push_back(number_of(place.at("[]", ratio)));
}

void read_partials(Options& options, const Place& place) {
  options.half_partials = place.value != "" && word_index_of(place, {"float", "half"}) == 1;
}

// The switch beside a count; see check_switches.
template <auto count>
void count_switch(Options& options, const Place& place) {
  if (!place.value.is_boolean()) place.refuse("true or false");
  if (!place.value.get<bool>()) options.*count = 1;
}

// See check_distributed.
void truth_alone(Options& /*options*/, const Place& place) {
  if (!place.value.is_boolean()) place.refuse("true or false");
}
template <int least>
void whole_alone(Options& /*options*/, const Place& place) {
  whole_number_of(place, least, std::numeric_limits<int>::max());
}

constexpr std::array kRows = std::to_array<Row<Options>>({
    {"virtualGraphMode", word<&Options::virtual_graph_mode>},
    {"virtualGraphSplitRatios", read_split_ratios},
    {"numIPUs", whole<&Options::ipus>},
    {"enablePipelining", truth<&Options::pipelining>},
    {"enableWeightStashing", truth<&Options::weight_stashing>},
    {"batchesPerStep", whole<&Options::batches_per_step, 1>},
    {"enableGradientAccumulation", count_switch<&Options::accumulation_factor>},
    {"accumulationFactor", whole<&Options::accumulation_factor, 1>},
    {"enableReplicatedGraphs", count_switch<&Options::replicas>},
    {"replicatedGraphCount", whole<&Options::replicas, 1>},
    {"enableDistributedReplicatedGraphs", truth_alone},
    {"globalReplicationFactor", whole_alone<1>},
    {"globalReplicaOffset", whole_alone<0>},
    {"executionPhaseSettings", object<&Options::phases, kPhaseRows>},
    {"batchSerializationSettings", object<&Options::batch_serialization, kBatchRows>},
    {"weightTensorLocationSettings", object<&Options::weights, kLocationSettingsRows>},
    {"optimizerStateTensorLocationSettings", object<&Options::optimizer_state, kLocationSettingsRows>},
    {"accumulatorTensorLocationSettings", object<&Options::accumulators, kLocationSettingsRows>},
    {"activationTensorLocationSettings", object<&Options::activations, kLocationSettingsRows>},
    {"tensorLocationSettingsOverride", read_overrides},
    {"numIOTiles", whole<&Options::io_tiles>},
    {"exchangeStrategy", word<&Options::overlap_io>},
    {"autoRecomputation", word<&Options::recomputation>},
    {"syncPattern", word<&Options::sync>},
    {"accumulationAndReplicationReductionType", word<&Options::reduction>},
    {"meanAccumulationAndReplicationReductionStrategy", word<&Options::mean_strategy>},
    {"automaticLossScalingSettings", object<&Options::loss_scaling, kLossScalingRows>},
    {"syntheticDataMode", word<&Options::synthetic_data>},
    {"partialsTypeMatMuls", read_partials},
    {"anchors", read_anchors},
    {"defaultBufferingDepth", without_effect<whole<&Options::buffering_depth, 1>>},
    {"bufferingDepthMap", without_effect<check_depths>},
    {"prefetchBufferingDepthMap", without_effect<check_depths>},
    {"enablePrefetchDatastreams", without_effect<truth<&Options::prefetch>>},
    {"constantWeights", truth<&Options::constant_weights>},
    // Numbers and movements of hardware that are not simulated.
    {"createImplicitPipeliningFwdOnlyProgram", ignored<Options, Shape::Truth>},
    {"stashAllTensorsInferencePipeline", ignored<Options, Shape::Truth>},
    {"explicitRecomputation", ignored<Options, Shape::Truth>},
    {"enableStochasticRounding", ignored<Options, Shape::Truth>},
    {"enableLoadAndOffloadRNGState", ignored<Options, Shape::Truth>},
    {"ensureFp32LossScaleTensor", ignored<Options, Shape::Truth>},
    {"enableNonStableSoftmax", ignored<Options, Shape::Truth>},
    {"enableStableNorm", ignored<Options, Shape::Truth>},
    {"groupNormStridedChannelGrouping", ignored<Options, Shape::Truth>},
    {"enableSupportedDataTypeCasting", ignored<Options, Shape::Truth>},
    {"strictOpVersions", ignored<Options, Shape::Truth>},
    {"updatableNamedBuffers", ignored<Options, Shape::List>},
    {"throwIfLog2ScaleTensorNotInRange", ignored<Options, Shape::Truth>},
    {"enableExplicitMainLoops", ignored<Options, Shape::Truth>},
    {"useHostCopyOps", ignored<Options, Shape::Truth>},
    {"autodiffSettings", ignored<Options, Shape::Object>},
    {"replicatedCollectivesSettings", ignored<Options, Shape::Object>},
    {"rearrangeAnchorsOnHost", ignored<Options, Shape::Truth>},
    {"rearrangeStreamsOnHost", ignored<Options, Shape::Truth>},
    // How a compiler arranges code, exchanges and memory.
    {"enableOutlining", ignored<Options, Shape::Truth>},
    {"enableOutliningCopyCostPruning", ignored<Options, Shape::Truth>},
    {"outlineThreshold", ignored<Options, Shape::Number>},
    {"outlineSequenceBreakCost", ignored<Options, Shape::Number>},
    {"subgraphCopyingStrategy", ignored<Options, Shape::Text>},
    {"mergeVarUpdate", ignored<Options, Shape::Text>},
    {"mergeVarUpdateMemThreshold", ignored<Options, Shape::Number>},
    {"looseThresholdAtPeak", ignored<Options, Shape::Number>},
    {"delayVarUpdates", ignored<Options, Shape::Truth>},
    {"scheduleNonWeightUpdateGradientConsumersEarly", ignored<Options, Shape::Truth>},
    {"accumulateOuterFragmentSettings", ignored<Options, Shape::Object>},
    {"decomposeGradSum", ignored<Options, Shape::Truth>},
    {"enableSerializedMatmuls", ignored<Options, Shape::Truth>},
    {"enableFullyConnectedPass", ignored<Options, Shape::Truth>},
    {"aliasZeroCopy", ignored<Options, Shape::Truth>},
    {"enableMergeExchange", ignored<Options, Shape::Truth>},
    {"enableEfficientOverlapIOTopoCons", ignored<Options, Shape::Truth>},
    {"groupHostSync", ignored<Options, Shape::Truth>},
    {"disableGradAccumulationTensorStreams", ignored<Options, Shape::Truth>},
    {"disableOptimizerStateTensorStreams", ignored<Options, Shape::Truth>},
    {"timeLimitScheduler", ignored<Options, Shape::Number>},
    {"swapLimitScheduler", ignored<Options, Shape::Number>},
    {"kahnTieBreaker", ignored<Options, Shape::Text>},
    {"transitiveClosureOptimizationThreshold", ignored<Options, Shape::Number>},
    {"enableVariablesCaching", ignored<Options, Shape::Truth>},
    {"enableEngineCaching", ignored<Options, Shape::Truth>},
    {"cachePath", ignored<Options, Shape::Text>},
    {"compileEngine", ignored<Options, Shape::Truth>},
    {"convolutionOptions", ignored<Options, Shape::Object>},
    {"lstmOptions", ignored<Options, Shape::Object>},
    {"matmulOptions", ignored<Options, Shape::Object>},
    {"engineOptions", ignored<Options, Shape::Object>},
    {"reportOptions", ignored<Options, Shape::Object>},
    {"gclOptions", ignored<Options, Shape::Object>},
    {"enableConstantFoldingOfMultipleConsumers", ignored<Options, Shape::Truth>},
    {"useLoopCandidateCreator", ignored<Options, Shape::Truth>},
    {"separateCallOpPdfs", ignored<Options, Shape::Truth>},
    // Debugging.
    {"logDir", ignored<Options, Shape::Text>},
    {"dotChecks", ignored<Options, Shape::List>},
    {"firstDotOp", ignored<Options, Shape::Number>},
    {"finalDotOp", ignored<Options, Shape::Number>},
    {"dotOpNames", ignored<Options, Shape::Truth>},
    {"exportPoplarComputationGraph", ignored<Options, Shape::Truth>},
    {"exportPoplarVertexGraph", ignored<Options, Shape::Truth>},
    {"instrumentWithHardwareCycleCounter", ignored<Options, Shape::Truth>},
    {"hardwareInstrumentations", ignored<Options, Shape::List>},
    {"enableFloatingPointChecks", ignored<Options, Shape::Truth>},
    {"opxAliasChecking", ignored<Options, Shape::Truth>},
    {"opxModifyChecking", ignored<Options, Shape::Truth>},
    {"enableInplaceAmbiguityChecking", ignored<Options, Shape::Truth>},
    {"customCodelets", ignored<Options, Shape::List>},
    {"customCodeletCompileFlags", ignored<Options, Shape::Text>},
    {"serializedPoprithmsShiftGraphsDir", ignored<Options, Shape::Text>},
    {"compilationProgressLogger", ignored<Options, Shape::Any>},
    {"compilationProgressTotal", ignored<Options, Shape::Number>},
    {"developerSettings", ignored<Options, Shape::Object>},
    {"experimentalSettings", ignored<Options, Shape::Object>},
});

// A count beside a switch that is explicitly off contradicts it; a count alone turns it on.
void check_switches(const json& document, const std::string& where) {
  constexpr std::array<std::pair<const char*, const char*>, 2> kSwitches{
      {{"enableReplicatedGraphs", "replicatedGraphCount"},
       {"enableGradientAccumulation", "accumulationFactor"}}};
  for (const auto& [enable, count] : kSwitches) {
    if (document.value(enable, true) || document.value(count, 1) == 1) continue;
    throw Error("{}: {}: {} found, 1 needed because {} is false", where, count, document.value(count, 1),
                enable);
  }
  if (document.contains("bufferingDepthMap") && document.contains("prefetchBufferingDepthMap")) {
    throw Error("{}: prefetchBufferingDepthMap: found beside bufferingDepthMap, only one of both needed",
                where);
  }
}

// One process simulates every replica, so only settings that ask for no other process can be followed.
void check_distributed(const json& document, const std::string& where, const Options& options,
                       std::vector<std::string>& ignored) {
  if (!document.value("enableDistributedReplicatedGraphs", false)) {
    for (const char* name : {"globalReplicationFactor", "globalReplicaOffset"}) {
      if (document.contains(name)) ignored.emplace_back(name);
    }
    return;
  }
  const int all = document.value("globalReplicationFactor", 1);
  const int first = document.value("globalReplicaOffset", 0);
  if (first > all || options.replicas > all) {
    throw Error(
        "{}: globalReplicationFactor: {} found, at least globalReplicaOffset {} and replicatedGraphCount {} "
        "needed",
        where, all, first, options.replicas);
  }
  if (all != options.replicas) {
    throw Error(
        "{}: enableDistributedReplicatedGraphs: {} of {} replicas found here, all of them needed: one "
        "process "
        "simulates them with replicatedGraphCount {}",
        where, options.replicas, all, all);
  }
}

}  // namespace

Options read_options(const std::string& text, const std::string& where, Notes& notes, Options options) {
  const json document = parse_json(text, where);
  std::vector<std::string> ignored;
  read_object<Options>(options, {document, where, "", ignored}, kRows);
  check_switches(document, where);
  check_distributed(document, where, options, ignored);
  if (!ignored.empty()) {
    notes.push_back(fmt::format("{}: no effect on a simulated device: {}", where, fmt::join(ignored, ", ")));
  }
  return options;
}

}  // namespace podium
