// A row says all there is to say of an option: what --help prints, what a file may hold and what a report
// calls it come from here alone. An object of a file, such as executionPhaseSettings, has rows of its own.
// The order is that of --help and of descriptions.
#include "executor/session/option_rows.h"

#include <fmt/format.h>

#include <array>

#include "executor/session/tensor_kinds.h"
#include "ir/number_text.h"

namespace podium {
namespace {

using nlohmann::json;

// By name, each value read and written by `rows`.
template <auto member, auto& rows>
constexpr Access<Strategy> kObjectsByName{.read =
                                              [](Strategy& strategy, const Place& place) {
                                                using Value = typename ValueOf<member>::mapped_type;
                                                for (const auto& [name, value] : object_of(place).items()) {
                                                  read_object<Value>((strategy.*member)[name],
                                                                     place.at(name, value), rows);
                                                }
                                              },
                                          .write = [](const Strategy& strategy) -> json {
                                            using Value = typename ValueOf<member>::mapped_type;
                                            json objects;
                                            for (const auto& [name, value] : strategy.*member)
                                              objects[name] = write_object<Value>(value, rows);
                                            return objects;
                                          }};

constexpr std::array<Row<ir::ReplicaGroup>, 2> kDomainRows{{
    {"type", access::word<&ir::ReplicaGroup::type>},
    {"replicaGroupSize", access::whole<&ir::ReplicaGroup::size>},
}};

// PopART's enumeration has On and Off.
constexpr Access<ir::TensorLocation> kSharding{
    .read =
        [](ir::TensorLocation& location, const Place& place) {
          location.sharded =
              place.value.is_boolean() ? place.value.get<bool>() : word_index_of(place, {"Off", "On"}) == 1;
        },
    .write = [](const ir::TensorLocation& location) { return json(location.sharded ? "On" : "Off"); }};

constexpr std::array<Row<ir::TensorLocation>, 5> kLocationRows{{
    {"storage", access::word<&ir::TensorLocation::storage>},
    {"loadTileSet", access::word<&ir::TensorLocation::load_tiles>},
    {"storageTileSet", access::word<&ir::TensorLocation::storage_tiles>},
    {"replicatedTensorSharding", kSharding},
    {"shardingDomain", access::object<&ir::TensorLocation::domain, kDomainRows>},
}};

constexpr std::array<Row<LocationSettings>, 3> kLocationSettingsRows{{
    {"location", access::object<&LocationSettings::location, kLocationRows>},
    {"minElementsForOffChip", access::whole<&LocationSettings::min_elements_for_off_chip>},
    {"minElementsForReplicatedTensorSharding", access::whole<&LocationSettings::min_elements_for_sharding>},
}};

// Of a place in kTensorKinds.
template <int index>
std::string describe_location(const Strategy& strategy) {
  constexpr const TensorKind& kind = kTensorKinds[index];
  const ir::TensorLocation& location = (strategy.*kind.settings).location;
  std::string text;
  if (location.storage == ir::Storage::OffChip) text = fmt::format("{} off chip", kind.noun);
  if (location.sharded) text += fmt::format("{}{} sharded", text.empty() ? "" : ", ", kind.noun);
  return text;
}

template <int index>
constexpr Row<Strategy> kLocationRow{
    .name = kTensorKinds[index].option,
    .access = access::object<kTensorKinds[index].settings, kLocationSettingsRows>,
    .describe = describe_location<index>};

constexpr std::array<Row<PhaseSettings>, 7> kPhaseRows{{
    {"phases", access::whole<&PhaseSettings::phases>, {"phases", "N execution phases"}},
    {"stages", access::whole<&PhaseSettings::stages, 1>},
    {"weightIOSchedule", access::word<&PhaseSettings::weights>},
    {"activationIOSchedule", access::word<&PhaseSettings::activations>},
    {"optimizerStateIOSchedule", access::word<&PhaseSettings::optimizer_state>},
    {"accumulatorIOSchedule", access::word<&PhaseSettings::accumulators>},
    {"schedule", access::word<&PhaseSettings::schedule>},
}};

constexpr std::array<Row<BatchSerialization>, 2> kBatchRows{{
    {"factor",
     access::whole<&BatchSerialization::factor>,
     {"batch-serialize", "N slices of a micro-batch, one after the other"}},
    {"ioMode", access::word<&BatchSerialization::io_mode>, {"io-mode", "how slices come and go"}},
}};

constexpr std::array<Row<TensorParallelism>, 8> kTensorParallelRows{{
    {"devices",
     access::whole<&TensorParallelism::devices, 1>,
     {"tensor-parallel",
      "N devices for the weights of each block of a transformer, and of products and convolutions in pairs: "
      "each processor of a placement is a group of N"}},
    {"cutsTokens",
     access::truth<&TensorParallelism::cuts_tokens>,
     {"sequence-parallel", "with --tensor-parallel, cut the tokens between the blocks too"}},
    {"expertGroups",
     access::whole<&TensorParallelism::expert_groups, 1>,
     {"expert-parallel", "N groups of the devices of --tensor-parallel, among which experts are shared out"}},
    {"contextGroups",
     access::whole<&TensorParallelism::context_groups, 1>,
     {"context-parallel",
      "N groups of the devices of --tensor-parallel, or of one each, that share out the tokens of each "
      "sequence, in attention too"}},
    {"spatialGroups",
     access::whole<&TensorParallelism::spatial_groups, 1>,
     {"spatial-parallel",
      "N devices that share out the rows of images, or the columns where these are more: convolutions and pools "
      "read a halo of their neighbours"}},
    {"sampleGroups",
     access::whole<&TensorParallelism::sample_groups, 1>,
     {"sample-parallel",
      "N groups of the devices of --spatial-parallel, or of one each, that share out the samples of images: "
      "normalisations of batches go over all of them"}},
    {"scattersSends",
     access::truth<&TensorParallelism::scatters_sends>,
     {"scatter-sends",
      "with --tensor-parallel, each device sends a part of what goes to another stage, where the parts are "
      "gathered"}},
    {"recomputesExchanges",
     access::truth<&TensorParallelism::recomputes_exchanges>,
     {"recompute-exchanges",
      "with --tensor-parallel, what devices exchange in layers that run again is exchanged again, not kept"}},
}};

constexpr Access<LossScaling> kTrackedTensors{
    .read =
        [](LossScaling& scaling, const Place& place) {
          if (!place.value.is_array()) place.refuse("an array of names of tensors");
          scaling.tensors.clear();
          for (const json& name : place.value) {
            const Place at = place.at("[]", name);
            if (!name.is_string()) at.refuse("the name of a tensor");
            scaling.tensors.push_back(name.get<std::string>());
          }
        },
    .write = [](const LossScaling& scaling) { return json(scaling.tensors); }};

constexpr std::array<Row<LossScaling>, 6> kLossScalingRows{{
    {"enabled", access::truth<&LossScaling::automatic>},
    {"binEdgeLocation", access::number<&LossScaling::bin_edge>},
    {"thresholdUpperCountProportion", access::number<&LossScaling::upper_proportion>},
    {"updatePeriod", access::whole<&LossScaling::period, 1>},
    {"toTrackTensors", kTrackedTensors},
    {"gradientTensorTrackingMethod", access::word<&LossScaling::tracking>},
}};

constexpr std::array<Row<Anchor>, 4> kAnchorRows{{
    {"returnType", access::word<&Anchor::returns>},
    {"returnPeriod", access::whole<&Anchor::every, 1>},
    {"tileSet", access::word<&Anchor::tiles>},
    {"exchangeStrategy", access::word<&Anchor::exchange>},
}};

void read_anchor(Anchor& anchor, const Place& place) {
  anchor = {};
  if (place.value.is_string()) {
    access::word<&Anchor::returns>.read(anchor, place);
  } else {
    read_object<Anchor>(anchor, place, kAnchorRows);
  }
  const bool has_period = place.value.is_object() && place.value.contains("returnPeriod");
  if (anchor.returns == AnchorReturn::EveryN && !has_period) place.refuse("a returnPeriod beside EveryN");
  if (anchor.returns != AnchorReturn::EveryN && has_period) place.refuse("a returnPeriod only with EveryN");
}

constexpr Access<Strategy> kAnchors{.read =
                                        [](Strategy& strategy, const Place& place) {
                                          for (const auto& [name, value] : object_of(place).items()) {
                                            read_anchor(strategy.anchors[name], place.at(name, value));
                                          }
                                        },
                                    .write = [](const Strategy& strategy) -> json {
                                      json anchors;
                                      for (const auto& [name, anchor] : strategy.anchors) {
                                        anchors[name] = write_object<Anchor>(anchor, kAnchorRows);
                                        if (anchor.returns != AnchorReturn::EveryN)
                                          anchors[name].erase("returnPeriod");
                                      }
                                      return anchors;
                                    }};

constexpr Access<Strategy> kSplitRatios{
    .read =
        [](Strategy& strategy, const Place& place) {
          if (!place.value.is_array()) place.refuse("an array of numbers");
          strategy.virtual_graph_split_ratios.clear();
          for (const json& ratio : place.value)
            strategy.virtual_graph_split_ratios.push_back(number_of(place.at("[]", ratio)));
        },
    .write = [](const Strategy& strategy) { return json(strategy.virtual_graph_split_ratios); }};

constexpr Access<Strategy> kPartials{
    .read =
        [](Strategy& strategy, const Place& place) {
          strategy.matmuls.partials = Partials::Float;
          if (place.value != "") read_word(strategy.matmuls.partials, place);
        },
    .write = [](const Strategy& strategy) { return json(word_of(strategy.matmuls.partials)); }};

// PopART's options of the compiler are texts, numbers too.
double number_in_text(const Place& place) {
  if (!place.value.is_string()) return number_of(place);
  const auto number = ir::number_of<double>(place.value.get_ref<const std::string&>());
  if (!number) place.refuse("a number");
  return *number;
}

constexpr Access<ProductPlanning> kAvailableMemory{
    .read =
        [](ProductPlanning& planning, const Place& place) {
          const double share = number_in_text(place);
          if (!(share > 0 && share <= 1)) place.refuse("a share of a tile's memory above 0 and at most 1");
          planning.available_memory = share;
        },
    .write =
        [](const ProductPlanning& planning) {
          return planning.available_memory ? json(*planning.available_memory) : json();
        }};

constexpr std::array<Row<ProductPlanning>, 2> kPlanningRows{{
    {"partialsType", access::word<&ProductPlanning::partials>},
    {"availableMemoryProportion", kAvailableMemory},
}};

// The partials of products are written as partialsTypeMatMuls.
constexpr std::array<Row<ProductPlanning>, 2> kMatmulRows{{
    {"partialsType", {.read = access::word<&ProductPlanning::partials>.read}},
    {"availableMemoryProportion", kAvailableMemory},
}};

constexpr Access<Strategy> kOutlining{
    .read = [](Strategy& strategy,
               const Place& place) { strategy.outlining = truth_of(place) ? Outlining::On : Outlining::Off; },
    .write = [](const Strategy& strategy) { return json(strategy.outlining == Outlining::On); }};

constexpr Access<Strategy> kChannelGroups{
    .read =
        [](Strategy& strategy, const Place& place) {
          strategy.channel_groups = truth_of(place) ? ChannelGroups::Strided : ChannelGroups::SideBySide;
        },
    .write =
        [](const Strategy& strategy) { return json(strategy.channel_groups == ChannelGroups::Strided); }};

constexpr Access<Strategy> kPrefetch{
    .read =
        [](Strategy& strategy, const Place& place) {
          strategy.host_streams.prefetch = truth_of(place) ? Prefetch::On : Prefetch::Off;
        },
    .write = [](const Strategy& strategy) { return json(strategy.host_streams.prefetch == Prefetch::On); }};

constexpr Access<Strategy> kEngineCaching{
    .read = [](Strategy& strategy, const Place& place) { strategy.cache.enabled = truth_of(place); },
    .write = [](const Strategy& strategy) { return json(strategy.cache.enabled); }};

constexpr Access<Strategy> kCachePath{
    .read =
        [](Strategy& strategy, const Place& place) {
          if (!place.value.is_string() || place.value == "") place.refuse("a folder");
          strategy.cache.path = place.value.get<std::string>();
        },
    .write = [](const Strategy& strategy) { return json(strategy.cache.path); },
    .reset = [](Strategy& strategy) { strategy.cache = {}; },
    .value = FlagValue::Text};

constexpr Access<Strategy> kBufferingDepth{
    .read =
        [](Strategy& strategy, const Place& place) {
          strategy.host_streams.depth =
              static_cast<int>(whole_number_of(place, 1, std::numeric_limits<int>::max()));
        },
    .write = [](const Strategy& strategy) { return json(strategy.host_streams.depth); }};

void read_depths(Strategy& strategy, const Place& place) {
  for (const auto& [name, value] : object_of(place).items()) {
    strategy.host_streams.depths[name] =
        static_cast<int>(whole_number_of(place.at(name, value), 1, std::numeric_limits<int>::max()));
  }
}

constexpr Access<Strategy> kBufferingDepths{.read = read_depths, .write = [](const Strategy& strategy) {
                                              return json(strategy.host_streams.depths);
                                            }};

constexpr std::array<Row<CollectiveMerging>, 4> kMergingRows{{
    {"prepareScheduleForMergingCollectives", access::truth<&CollectiveMerging::brings_together>},
    {"mergeAllReduceCollectives", access::truth<&CollectiveMerging::all_reduces>},
    {"mergeReduceScatterCollectives", access::truth<&CollectiveMerging::reduce_scatters>},
    {"mergeAllGatherCollectives", access::truth<&CollectiveMerging::all_gathers>},
}};

constexpr Access<Strategy> kUpdatableBuffers{
    .read =
        [](Strategy& strategy, const Place& place) {
          if (!place.value.is_array()) place.refuse("an array of names of tensors");
          strategy.updatable_buffers.clear();
          for (const json& name : place.value) {
            const Place at = place.at("[]", name);
            if (!name.is_string()) at.refuse("the name of a tensor");
            strategy.updatable_buffers.push_back(name.get<std::string>());
          }
        },
    .write = [](const Strategy& strategy) { return json(strategy.updatable_buffers); }};

// The switch beside a count: a count beside a switch that is off is refused (read_options.cpp).
template <auto count>
constexpr Access<Strategy> kCountSwitch{
    .read =
        [](Strategy& strategy, const Place& place) {
          if (!truth_of(place)) strategy.*count = 1;
        },
    .write = [](const Strategy& strategy) { return json(strategy.*count > 1); }};

// Checked alone: what it has to fit to is looked at in read_options.cpp.
constexpr Access<Strategy> kTruthAlone{[](Strategy& /*strategy*/, const Place& place) { truth_of(place); }};
template <int least>
constexpr Access<Strategy> kWholeAlone{[](Strategy& /*strategy*/, const Place& place) {
  whole_number_of(place, least, std::numeric_limits<int>::max());
}};

// A word, or for each processor the list of its actions: [["F0", "F1", "B0", "B1"], ["F0", "B0", "F1",
// "B1"]].
schedule::Orders orders_of(const Place& place) {
  schedule::Orders orders;
  for (const json& list : place.value) {
    const auto processor = static_cast<int>(orders.size());
    const Place of_processor = place.at(std::to_string(processor), list);
    if (!list.is_array()) of_processor.refuse("an array of actions such as \"F0\", \"B0\"");
    std::vector<schedule::Action>& order = orders.emplace_back();
    for (const json& text : list) {
      const auto action =
          text.is_string() ? schedule::read_action(text.get<std::string>(), processor) : std::nullopt;
      if (!action) {
        of_processor.at("[]", text)
            .refuse(
                "F, I, W or B with the number of a micro-batch, and behind @ that of a chunk: \"F3\", \"B0@2\"");
      }
      order.push_back(*action);
    }
  }
  return orders;
}

constexpr Access<Strategy> kPipelineSchedule{
    .read =
        [](Strategy& strategy, const Place& place) {
          strategy.pipeline_list.clear();
          if (!place.value.is_array()) return read_word(strategy.pipeline_order, place);
          strategy.pipeline_order = PipelineOrder::Listed;
          strategy.pipeline_list = orders_of(place);
        },
    .write = [](const Strategy& strategy) -> json {
      if (strategy.pipeline_order != PipelineOrder::Listed) return write_word(strategy.pipeline_order);
      json lists = json::array();
      for (const std::vector<schedule::Action>& order : strategy.pipeline_list) {
        json& list = lists.emplace_back(json::array());
        for (const schedule::Action& action : order) list.push_back(schedule::written_out(action));
      }
      return lists;
    },
    .reset =
        [](Strategy& strategy) {
          strategy.pipeline_order = PipelineOrder::Lockstep;
          strategy.pipeline_list.clear();
        },
    .value = FlagValue::WordOrFile,
    .words = flag_words<PipelineOrder>};

std::string describe_schedule(const Strategy& strategy) {
  if (strategy.pipeline_order == PipelineOrder::Lockstep) return "";
  if (strategy.pipeline_order == PipelineOrder::Listed) return "listed schedule";
  return std::string(word_of(strategy.pipeline_order));
}
constexpr Access<Strategy> kDeferred{
    .read =
        [](Strategy& strategy, const Place& place) {
          strategy.pipeline_deferred = whole_number_of(place, 0, std::numeric_limits<int>::max());
        },
    .write =
        [](const Strategy& strategy) {
          return strategy.pipeline_deferred ? json(*strategy.pipeline_deferred) : json();
        },
    .reset = [](Strategy& strategy) { strategy.pipeline_deferred.reset(); },
    .value = FlagValue::Whole};

std::string describe_deferred(const Strategy& strategy) {
  return strategy.pipeline_deferred ? fmt::format("{} weight gradients deferred", *strategy.pipeline_deferred)
                                    : "";
}
std::string describe_configuration(const Strategy& strategy) {
  return strategy.device_configuration.empty()
             ? ""
             : fmt::format("tensors cut as configuration '{}' says", strategy.device_configuration);
}
std::string describe_tensor_parallel(const Strategy& strategy) { return words_of(strategy.tensor_parallel); }
std::string describe_chunks(const Strategy& strategy) {
  return strategy.pipeline_chunks > 1 ? fmt::format("{} chunks on each", strategy.pipeline_chunks) : "";
}
std::string describe_stashing(const Strategy& strategy) {
  return strategy.weight_stashing ? "weights stashed" : "";
}
std::string describe_replicas(const Strategy& strategy) {
  return strategy.replicas > 1 ? fmt::format("{} replicas", strategy.replicas) : "";
}
std::string describe_slices(const Strategy& strategy) {
  const int slices = strategy.batch_serialization.factor;
  return slices > 1 ? fmt::format("batch in {} slices", slices) : "";
}
std::string describe_recomputation(const Strategy& strategy) {
  return strategy.recomputation == Recomputation::None ? "" : "recomputation";
}
std::string describe_overlap(const Strategy& strategy) {
  return strategy.overlap_io == ir::ExchangeStrategy::JustInTime ? "" : "host IO overlapped";
}

constexpr std::array kRows = std::to_array<Row<Strategy>>({
    {"numIPUs",
     access::whole<&Strategy::ipus>,
     {"ipus", "N processors, all replicas together; 0: as many as are needed"}},
    {"deviceConfiguration",
     access::text<&Strategy::device_configuration>,
     {"configuration", "NAME of the model's device configuration whose devices tensors are cut over"},
     describe_configuration},
    {.name = "tensorParallelSettings",
     .access = access::object<&Strategy::tensor_parallel, kTensorParallelRows>,
     .describe = describe_tensor_parallel},
    {"virtualGraphMode",
     access::word<&Strategy::virtual_graph_mode>,
     {"virtual-graph-mode", "how ops come to processors"}},
    {"virtualGraphSplitRatios", kSplitRatios},
    {"enablePipelining", access::truth<&Strategy::pipelining>, {"pipeline", "pipeline the stages"}},
    {"pipelineSchedule",
     kPipelineSchedule,
     {"pipeline-schedule",
      "in which order a pipeline's passes come, or a file FILE.json with lists of actions"},
     describe_schedule},
    {"pipelineChunks",
     access::whole<&Strategy::pipeline_chunks, 1>,
     {"chunks", "N chunks of the model on each processor of a pipeline that is placed automatically"},
     describe_chunks},
    {"pipelineDeferred",
     kDeferred,
     {"defer-weights",
      "N weight gradients that a processor of a pipeline may put off, where the schedule does so (training; "
      "default: as many as help and fit)"},
     describe_deferred,
     UsedBy::TrainingAlone},
    {"enableWeightStashing",
     access::truth<&Strategy::weight_stashing>,
     {"weight-stashing",
      "in a pipeline that updates every micro-batch, the backward pass meets the weights that the forward "
      "pass met, not the newest (training)"},
     describe_stashing,
     UsedBy::TrainingAlone},
    {"batchesPerStep",
     access::whole<&Strategy::batches_per_step, 1>,
     {"batches-per-step", "N micro-batches of a replica in a step"}},
    {"enableGradientAccumulation", kCountSwitch<&Strategy::accumulation_factor>},
    {"accumulationFactor",
     access::whole<&Strategy::accumulation_factor, 1>,
     {"accumulate", "N micro-batches an update of the weights (training)", "/enableGradientAccumulation"}},
    {"enableReplicatedGraphs", kCountSwitch<&Strategy::replicas>},
    {"replicatedGraphCount",
     access::whole<&Strategy::replicas, 1>,
     {"replicas", "N data-parallel replicas", "/enableReplicatedGraphs"},
     describe_replicas},
    {"enableDistributedReplicatedGraphs", kTruthAlone},
    {"globalReplicationFactor", kWholeAlone<1>},
    {"globalReplicaOffset", kWholeAlone<0>},
    {"executionPhaseSettings", access::object<&Strategy::phases, kPhaseRows>},
    {.name = "batchSerializationSettings",
     .access = access::object<&Strategy::batch_serialization, kBatchRows>,
     .describe = describe_slices},
    kLocationRow<0>,
    kLocationRow<1>,
    kLocationRow<2>,
    {"autoRecomputation",
     access::word<&Strategy::recomputation>,
     {"recompute", ""},
     describe_recomputation,
     UsedBy::TrainingAlone},
    kLocationRow<3>,
    {"tensorLocationSettingsOverride", kObjectsByName<&Strategy::location_overrides, kLocationRows>},
    {"numIOTiles",
     access::whole<&Strategy::io_tiles>,
     {"io-tiles", "N tiles of each processor for input and output"}},
    {"exchangeStrategy",
     access::word<&Strategy::overlap_io>,
     {"overlap-io", "host data beside compute"},
     describe_overlap},
    {"syncPattern", access::word<&Strategy::sync>, {"sync", "who waits for an exchange"}},
    {.name = "accumulationAndReplicationReductionType",
     .access = access::word<&Strategy::reduction>,
     .flag = {"reduction", "of gradients over micro-batches and replicas"},
     .used_by = UsedBy::TrainingAlone},
    {"meanAccumulationAndReplicationReductionStrategy", access::word<&Strategy::mean_strategy>},
    {"automaticLossScalingSettings", access::object<&Strategy::loss_scaling, kLossScalingRows>},
    {"syntheticDataMode", access::word<&Strategy::synthetic_data>},
    {"partialsTypeMatMuls", kPartials},
    {"operandsTypeMatMuls",
     access::word<&Strategy::operands>,
     {"operands",
      "of products by weights: as they are stored, or blocks of 8 bits that share a power of two"}},
    {"matmulOptions", access::object<&Strategy::matmuls, kMatmulRows>},
    {"convolutionOptions", access::object<&Strategy::convolutions, kPlanningRows>},
    {"lstmOptions", access::object<&Strategy::recurrent, kPlanningRows>},
    {"enableOutlining", kOutlining},
    {"enablePrefetchDatastreams", kPrefetch},
    {"defaultBufferingDepth", kBufferingDepth},
    {"bufferingDepthMap", kBufferingDepths},
    {"prefetchBufferingDepthMap", {.read = read_depths}},
    {"replicatedCollectivesSettings", access::object<&Strategy::merging, kMergingRows>},
    {"enableMergeExchange", access::truth<&Strategy::joins_remote_transfers>},
    {"groupNormStridedChannelGrouping", kChannelGroups},
    {"anchors", kAnchors},
    {"constantWeights", access::truth<&Strategy::constant_weights>},
    {"updatableNamedBuffers", kUpdatableBuffers},
    {"enableEngineCaching", kEngineCaching},
    {"cachePath",
     kCachePath,
     {"cache",
      "DIR that keeps packed weights: who runs the model next maps them instead of packing them again",
      "/enableEngineCaching"}},
});

}  // namespace

std::string words_of(const TensorParallelism& cut) {
  std::vector<std::string> parts;
  if (cut.devices > 1) parts.push_back(fmt::format("tensors cut over {}", cut.devices));
  if (cut.cuts_tokens) parts.emplace_back("tokens too");
  if (cut.scatters_sends) parts.emplace_back("sends in parts");
  if (cut.recomputes_exchanges) parts.emplace_back("exchanges again");
  if (cut.context_groups > 1) parts.push_back(fmt::format("tokens shared out among {}", cut.context_groups));
  if (cut.spatial_groups > 1) parts.push_back(fmt::format("images shared out among {}", cut.spatial_groups));
  if (cut.sample_groups > 1) parts.push_back(fmt::format("samples shared out among {}", cut.sample_groups));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::span<const Row<Strategy>> option_rows() { return kRows; }

std::vector<BoundFlag> option_flags() {
  std::vector<BoundFlag> flags;
  add_flags<Strategy>(kRows, {}, "", flags);
  return flags;
}

}  // namespace podium
