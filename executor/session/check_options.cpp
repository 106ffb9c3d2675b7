// Strategy are checked in three steps. Rules (kRules) name those that contradict each other. What a device, a
// placement or an optimizer does not have is an error, too. What is left is legal, but may have no effect:
// that is turned off, with a note, so that nobody after has to ask for the reasons again.
#include "executor/session/check_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "annotate/automatic.h"
#include "executor/device/read_device.h"
#include "executor/schedule/families.h"
#include "executor/session/option_rows.h"
#include "executor/session/option_words.h"
#include "executor/session/tensor_kinds.h"
#include "ir/nearest.h"

namespace podium {
namespace {

constexpr int kLeastIoTiles = 32;

bool has_phases(const Strategy& strategy) { return strategy.phases.phases > 1; }
bool serializes(const Strategy& strategy) { return strategy.batch_serialization.factor > 1; }

// Whether a pipeline that trains runs empty before each update.
bool runs_empty(const Strategy& strategy) {
  return strategy.accumulation_factor > 1 || serializes(strategy) ||
         strategy.pipeline_order != PipelineOrder::Lockstep;
}

// Whether inputs or any anchor move as `fits` says.
template <class Fits>
bool any_exchange(const Strategy& strategy, Fits fits) {
  return fits(strategy.overlap_io) ||
         std::any_of(strategy.anchors.begin(), strategy.anchors.end(), [&](const auto& anchor) {
           return fits(anchor.second.exchange.value_or(strategy.overlap_io));
         });
}

bool overlaps(const Strategy& strategy) {
  return any_exchange(
      strategy, [](ir::ExchangeStrategy exchange) { return exchange != ir::ExchangeStrategy::JustInTime; });
}

// "" when the rule is kept.
using Rule = std::string (*)(const Strategy&);

std::string phases_need_their_mode(const Strategy& strategy) {
  if (!has_phases(strategy) || strategy.virtual_graph_mode == VirtualGraphMode::ExecutionPhases) return "";
  return fmt::format("executionPhaseSettings.phases {} needs virtualGraphMode ExecutionPhases, {} found",
                     strategy.phases.phases, word_of(strategy.virtual_graph_mode));
}

std::string pipelining_needs_processors(const Strategy& strategy) {
  if (!strategy.pipelining || strategy.virtual_graph_mode != VirtualGraphMode::Off) return "";
  return "enablePipelining needs virtualGraphMode Manual or Auto (--virtual-graph-mode auto), Off found";
}

std::string schedules_need_pipelining(const Strategy& strategy) {
  if (strategy.pipelining) return "";
  if (strategy.pipeline_chunks > 1) return "pipelineChunks needs enablePipelining (--pipeline)";
  if (strategy.pipeline_order == PipelineOrder::Lockstep) return "";
  return "pipelineSchedule needs enablePipelining (--pipeline): without it processors wait for each other";
}

std::string schedules_exclude_stashed_weights(const Strategy& strategy) {
  if (!strategy.weight_stashing || strategy.pipeline_order == PipelineOrder::Lockstep) return "";
  return "enableWeightStashing needs pipelineSchedule Lockstep: the others run empty before each update";
}

std::string some_schedules_defer(const Strategy& strategy) {
  if (!strategy.pipeline_deferred || strategy.pipeline_order == PipelineOrder::Auto) return "";
  const bool is_named = strategy.pipeline_order != PipelineOrder::Listed;
  if (is_named && schedule::family_of(strategy.pipeline_order).deferral == schedule::Deferral::Chosen)
    return "";
  return fmt::format("pipelineDeferred needs pipelineSchedule LockstepSplit, ZB-H1 or ZB-H2, {} found",
                     is_named ? word_of(strategy.pipeline_order) : "a list");
}

std::string two_copies_exclude_running_means(const Strategy& strategy) {
  const bool has_name =
      strategy.pipeline_order != PipelineOrder::Listed && strategy.pipeline_order != PipelineOrder::Auto;
  const bool is_running =
      strategy.reduction == Reduction::Mean && strategy.mean_strategy == MeanStrategy::Running;
  if (!has_name || !is_running) return "";
  if (schedule::family_of(strategy.pipeline_order).shape != schedule::Shape::TwoWay) return "";
  return fmt::format(
      "pipelineSchedule {} needs meanAccumulationAndReplicationReductionStrategy Post, Running found: each copy "
      "of the model counts its own micro-batches",
      word_of(strategy.pipeline_order));
}

std::string chunks_are_placed_automatically(const Strategy& strategy) {
  if (strategy.pipeline_chunks == 1 || strategy.virtual_graph_mode == VirtualGraphMode::Auto) return "";
  return "pipelineChunks needs virtualGraphMode Auto: otherwise annotations say which stages a processor has";
}

std::string stashing_needs_pipelining(const Strategy& strategy) {
  if (strategy.pipelining || !strategy.weight_stashing) return "";
  return "enableWeightStashing needs enablePipelining (--pipeline): only stages that overlap meet weights of "
         "several versions";
}

std::string pipelining_excludes_phases(const Strategy& strategy) {
  if (!strategy.pipelining || strategy.virtual_graph_mode != VirtualGraphMode::ExecutionPhases) return "";
  return "enablePipelining needs virtualGraphMode Manual or Auto, ExecutionPhases found: "
         "a processor either is a stage or takes turns with the phases";
}

std::string configurations_cut(const Strategy& strategy) {
  if (strategy.device_configuration.empty() || !serializes(strategy)) return "";
  return fmt::format(
      "deviceConfiguration '{}' excludes batchSerializationSettings.factor: the parts of an op are not cut again",
      strategy.device_configuration);
}

std::string blocks_are_cut_once(const Strategy& strategy) {
  const TensorParallelism& cut = strategy.tensor_parallel;
  const char* needs_devices = cut.cuts_tokens            ? "cutsTokens"
                              : cut.expert_groups > 1    ? "expertGroups"
                              : cut.scatters_sends       ? "scattersSends"
                              : cut.recomputes_exchanges ? "recomputesExchanges"
                                                         : nullptr;
  if (cut.devices == 1 && needs_devices != nullptr) {
    return fmt::format("tensorParallelSettings.{} needs devices of at least 2 (--tensor-parallel), 1 found",
                       needs_devices);
  }
  const std::string images = cut.spatial_groups > 1 ? fmt::format("spatialGroups {}", cut.spatial_groups)
                                                    : fmt::format("sampleGroups {}", cut.sample_groups);
  if (cut.image_groups() > 1 && (cut.devices > 1 || cut.context_groups > 1)) {
    return fmt::format("tensorParallelSettings.{} (--{}) excludes {} {}, 1 needed", images,
                       cut.spatial_groups > 1 ? "spatial-parallel" : "sample-parallel",
                       cut.devices > 1 ? "devices" : "contextGroups",
                       cut.devices > 1 ? cut.devices : cut.context_groups);
  }
  if (cut.cuts()) {
    const std::string found = cut.devices > 1          ? fmt::format("devices {}", cut.devices)
                              : cut.context_groups > 1 ? fmt::format("contextGroups {}", cut.context_groups)
                                                       : images;
    if (!strategy.device_configuration.empty()) {
      return fmt::format(
          "tensorParallelSettings.{} excludes deviceConfiguration '{}': either says how tensors are cut",
          found, strategy.device_configuration);
    }
    if (!serializes(strategy)) return "";
    return fmt::format(
        "tensorParallelSettings.{} excludes batchSerializationSettings.factor: the parts of an op are "
        "not cut again",
        found);
  }
  return "";
}

std::string every_n_divides_batches(const Strategy& strategy) {
  for (const auto& [name, anchor] : strategy.anchors) {
    if (anchor.returns != AnchorReturn::EveryN) continue;
    if (anchor.every >= 1 && strategy.batches_per_step % anchor.every == 0) continue;
    return fmt::format("anchor '{}': a period of {} found, one that divides batchesPerStep {} needed", name,
                       anchor.every, strategy.batches_per_step);
  }
  return "";
}

std::string stages_need_recomputation(const Strategy& strategy) {
  if (strategy.pipelining || strategy.recomputation != Recomputation::Pipeline) return "";
  return "autoRecomputation Pipeline needs enablePipelining (--pipeline)";
}

std::string overlap_needs_processors(const Strategy& strategy) {
  if (!overlaps(strategy) || strategy.virtual_graph_mode != VirtualGraphMode::Off) return "";
  return "exchangeStrategy other than JustInTime needs a virtualGraphMode, Off found";
}

std::string overlap_step_is_not_supported(const Strategy& strategy) {
  const bool found = any_exchange(
      strategy, [](ir::ExchangeStrategy exchange) { return exchange == ir::ExchangeStrategy::OverlapStep; });
  return found ? "exchangeStrategy OverlapStep is not supported, OverlapLoops overlaps the most" : "";
}

std::string io_tiles_are_even(const Strategy& strategy) {
  if (strategy.io_tiles == 0 || (strategy.io_tiles >= kLeastIoTiles && strategy.io_tiles % 2 == 0)) return "";
  return fmt::format("numIOTiles {} found, an even number of at least {} needed", strategy.io_tiles,
                     kLeastIoTiles);
}

std::string io_modes_need_io_tiles(const Strategy& strategy) {
  const bool has_tiles = strategy.io_tiles > 0 && strategy.virtual_graph_mode != VirtualGraphMode::Off;
  if (!serializes(strategy) || strategy.batch_serialization.io_mode == IoMode::Compute || has_tiles)
    return "";
  return fmt::format(
      "batchSerializationSettings.ioMode {} needs numIOTiles of at least {} and a virtualGraphMode, "
      "{} and {} found",
      word_of(strategy.batch_serialization.io_mode), kLeastIoTiles, strategy.io_tiles,
      word_of(strategy.virtual_graph_mode));
}

std::string replicas_divide_ipus(const Strategy& strategy) {
  if (strategy.ipus == 0) return "";
  if (strategy.virtual_graph_mode == VirtualGraphMode::Off && strategy.ipus != strategy.replicas) {
    return fmt::format(
        "virtualGraphMode Off needs a processor a replica: numIPUs {} found, replicatedGraphCount {}",
        strategy.ipus, strategy.replicas);
  }
  if (strategy.ipus % strategy.replicas == 0) return "";
  return fmt::format("numIPUs {} found, a multiple of replicatedGraphCount {} needed", strategy.ipus,
                     strategy.replicas);
}

std::string domains_divide_replicas(const Strategy& strategy) {
  const auto refusal = [&](const ir::TensorLocation& location) -> std::string {
    const bool has_size = location.domain.type == ir::GroupType::Consecutive ||
                          location.domain.type == ir::GroupType::Orthogonal;
    if (!location.sharded || strategy.replicas == 1 || !has_size) return "";
    if (location.domain.size >= 1 && strategy.replicas % location.domain.size == 0) return "";
    return fmt::format(
        "shardingDomain: groups of {} replicas found, a size that divides replicatedGraphCount {} needed",
        location.domain.size, strategy.replicas);
  };
  for (const TensorKind& kind : kTensorKinds) {
    if (!kind.can_be_sharded) continue;
    if (std::string reason = refusal((strategy.*kind.settings).location); !reason.empty()) return reason;
  }
  for (const auto& [name, location] : strategy.location_overrides) {
    const std::string reason = refusal(location);
    if (!reason.empty()) return fmt::format("tensorLocationSettingsOverride '{}': {}", name, reason);
  }
  return "";
}

std::string split_ratios_fit(const Strategy& strategy) {
  const std::vector<double>& ratios = strategy.virtual_graph_split_ratios;
  if (ratios.empty()) return "";
  if (strategy.virtual_graph_mode != VirtualGraphMode::Auto)
    return "virtualGraphSplitRatios needs virtualGraphMode Auto";
  if (std::string reason = annotate::why_no_ratios(ratios); !reason.empty())
    return "virtualGraphSplitRatios: " + reason;
  const std::size_t processors = strategy.ipus / strategy.replicas;
  if (strategy.ipus == 0 || processors == ratios.size()) return "";
  return fmt::format("virtualGraphSplitRatios: {} ratios found, {} needed: one a processor of a replica",
                     ratios.size(), processors);
}

// A pipeline's cycles, the steps of a schedule and the micro-batches of a run are counted in 32 bits.
std::string micro_batches_can_be_counted(const Strategy& strategy) {
  constexpr std::int64_t kMost = 1'000'000'000;
  std::int64_t count = std::int64_t{strategy.batches_per_step} * strategy.accumulation_factor;
  if (count <= kMost) count *= std::max(strategy.batch_serialization.factor, 1);
  if (count <= kMost) count *= strategy.replicas;
  if (count <= kMost) return "";
  return fmt::format(
      "{} micro-batches in a step found (batchesPerStep times accumulationFactor times "
      "batchSerializationSettings.factor times replicatedGraphCount), at most {} needed",
      count, kMost);
}

std::string processors_can_be_counted(const Strategy& strategy) {
  constexpr int kMost = 1 << 20;  // as a device has
  if (std::max(strategy.ipus, strategy.replicas) <= kMost) return "";
  return fmt::format("{} {} found, at most {} needed",
                     strategy.ipus > kMost ? "numIPUs" : "replicatedGraphCount",
                     std::max(strategy.ipus, strategy.replicas), kMost);
}

// Every pair of options that cannot go together, and every value that only another option makes wrong.
constexpr Rule kRules[] = {
    processors_can_be_counted,
    micro_batches_can_be_counted,
    phases_need_their_mode,
    configurations_cut,
    blocks_are_cut_once,
    pipelining_needs_processors,
    stashing_needs_pipelining,
    pipelining_excludes_phases,
    every_n_divides_batches,
    schedules_need_pipelining,
    schedules_exclude_stashed_weights,
    some_schedules_defer,
    two_copies_exclude_running_means,
    chunks_are_placed_automatically,
    stages_need_recomputation,
    overlap_needs_processors,
    overlap_step_is_not_supported,
    io_tiles_are_even,
    io_modes_need_io_tiles,
    replicas_divide_ipus,
    domains_divide_replicas,
    split_ratios_fit,
};

void check_inference(const Strategy& strategy) {
  if (strategy.accumulation_factor > 1) {
    throw Error(
        "accumulationFactor: {} found, 1 needed: gradient accumulation is only available when training",
        strategy.accumulation_factor);
  }
  if (strategy.loss_scaling.automatic) {
    throw Error(
        "automaticLossScalingSettings.enabled: true found, loss scaling is only available when training");
  }
}

void turn_off_sharding(Strategy& strategy, Notes& notes) {
  const auto turn_off = [&](const TensorKind& kind, const std::string& why) {
    bool& sharded = (strategy.*kind.settings).location.sharded;
    if (sharded)
      notes.push_back(fmt::format("replicatedTensorSharding of {}: no effect, {}", kind.noun, why));
    sharded = false;
  };
  for (const TensorKind& kind : kTensorKinds) {
    if (!kind.can_be_sharded) turn_off(kind, fmt::format("{} are never sharded", kind.noun));
  }
  if (strategy.replicas > 1) return;
  for (auto& [name, location] : strategy.location_overrides) {
    if (!location.sharded) continue;
    location.sharded = false;
    notes.push_back(fmt::format(
        "tensorLocationSettingsOverride '{}': replicatedTensorSharding has no effect, there is one replica",
        name));
  }
  for (const TensorKind& kind : kTensorKinds) turn_off(kind, "there is one replica");
}

void turn_off_overlap(Strategy& strategy) {
  strategy.overlap_io = ir::ExchangeStrategy::JustInTime;
  for (auto& [name, anchor] : strategy.anchors) anchor.exchange.reset();
}

void turn_off_io_tiles(Strategy& strategy, Notes& notes) {
  if (strategy.io_tiles > 0 && strategy.virtual_graph_mode == VirtualGraphMode::Off) {
    notes.push_back("numIOTiles: no effect with virtualGraphMode Off");
    strategy.io_tiles = 0;
  }
  if (strategy.io_tiles > 0) return;
  if (overlaps(strategy)) {
    notes.push_back("exchangeStrategy: nothing overlaps without numIOTiles");
    turn_off_overlap(strategy);
  }
  for (const TensorKind& kind : kTensorKinds) {
    ir::TensorLocation& location = (strategy.*kind.settings).location;
    location.load_tiles = ir::TileSet::Compute;
    location.storage_tiles = ir::TileSet::Compute;
  }
}

void turn_off_stashing(Strategy& strategy, Notes& notes) {
  if (!strategy.weight_stashing || !runs_empty(strategy)) return;
  strategy.weight_stashing = false;
  notes.push_back(
      fmt::format("enableWeightStashing: no effect with {}, the pipeline runs empty before an update",
                  serializes(strategy) ? "slices of a micro-batch"
                                       : fmt::format("accumulationFactor {}", strategy.accumulation_factor)));
}

bool is_default(const LossScaling& s) {
  const LossScaling d;
  return std::tie(s.bin_edge, s.upper_proportion, s.period, s.tracking, s.tensors) ==
         std::tie(d.bin_edge, d.upper_proportion, d.period, d.tracking, d.tensors);
}

void turn_off_what_only_trains(Strategy& strategy, Notes& notes) {
  const Strategy untouched;
  const auto note = [&](std::string_view option) {
    notes.push_back(fmt::format("{}: no effect without training", option));
  };
  for (const Row<Strategy>& row : option_rows()) {
    if (row.used_by == UsedBy::All || row.access.write(strategy) == row.access.write(untouched)) continue;
    note(row.name);
    row.access.reset(strategy);
  }
  for (const TensorKind& kind : kTensorKinds) {
    ir::TensorLocation& location = (strategy.*kind.settings).location;
    if (kind.used_by == UsedBy::All || location == ir::TensorLocation{}) continue;
    note(kind.option);
    location = {};
  }
}

// In phases the slices of a micro-batch overlap, or nothing does where a phase has a loop.
void turn_off_overlap_of_slices(Strategy& strategy, Notes& notes) {
  if (!has_phases(strategy) || !runs_empty(strategy) || !overlaps(strategy)) return;
  notes.push_back(
      fmt::format("exchangeStrategy: no effect in phases with {}",
                  serializes(strategy)
                      ? "batchSerializationSettings, whose ioMode IOOverlapped overlaps the slices"
                      : fmt::format("accumulationFactor {}: every phase has a loop over its micro-batches",
                                    strategy.accumulation_factor)));
  turn_off_overlap(strategy);
}

void note_what_is_idle(const Strategy& strategy, const device::Device& device, Notes& notes) {
  PhaseSettings untouched;
  untouched.phases = strategy.phases.phases;
  if (strategy.virtual_graph_mode == VirtualGraphMode::ExecutionPhases && !has_phases(strategy)) {
    notes.push_back("virtualGraphMode ExecutionPhases: no effect with fewer than 2 phases");
  } else if (!has_phases(strategy) && strategy.phases != untouched) {
    notes.push_back("executionPhaseSettings: no effect with fewer than 2 phases");
  }
  for (const TensorKind& kind : kTensorKinds) {
    const ir::TensorLocation& location = (strategy.*kind.settings).location;
    if (location.storage == ir::Storage::OffChip && location.storage_tiles == ir::TileSet::IO)
      notes.push_back(fmt::format("storageTileSet of {}: no effect off chip", kind.noun));
    if (location.storage == ir::Storage::OnChip && location.load_tiles == ir::TileSet::IO)
      notes.push_back(fmt::format("loadTileSet of {}: no effect on chip, nothing is loaded", kind.noun));
  }
  const bool is_alone = strategy.virtual_graph_mode == VirtualGraphMode::Off && strategy.replicas == 1;
  if (strategy.sync != SyncPattern::Full && (is_alone || !device.synchronous)) {
    notes.push_back(fmt::format("syncPattern: no effect {}",
                                is_alone ? "on one processor" : "on a device that is not synchronous"));
  }
  if (strategy.reduction == Reduction::Sum && strategy.mean_strategy != MeanStrategy::Post) {
    notes.push_back(
        "meanAccumulationAndReplicationReductionStrategy: no effect with "
        "accumulationAndReplicationReductionType Sum");
  }
  if (!strategy.loss_scaling.automatic && !is_default(strategy.loss_scaling))
    notes.push_back("automaticLossScalingSettings: no effect without enabled");
  if (!serializes(strategy) && strategy.batch_serialization.io_mode != IoMode::Compute) {
    notes.push_back("batchSerializationSettings.ioMode: no effect without a factor of at least 2");
  }
}

}  // namespace

std::optional<std::string> why_illegal(const Strategy& strategy) {
  for (const Rule rule : kRules) {
    std::string reason = rule(strategy);
    if (!reason.empty()) return reason;
  }
  return std::nullopt;
}

void check_counts(const Strategy& strategy) {
  for (const Rule rule : {processors_can_be_counted, micro_batches_can_be_counted}) {
    if (const std::string reason = rule(strategy); !reason.empty()) throw IllegalOptions(reason);
  }
}

Strategy check_options(Strategy strategy, const device::Device& device, Task task, Notes& notes) {
  const bool says_nothing = strategy.virtual_graph_mode == VirtualGraphMode::Off;
  if (strategy.cuts_tensors() && says_nothing) strategy.virtual_graph_mode = VirtualGraphMode::Manual;
  if (const auto reason = why_illegal(strategy)) throw IllegalOptions(*reason);
  if (task == Task::Inference) check_inference(strategy);
  check_device(strategy, device);
  turn_off_sharding(strategy, notes);
  turn_off_io_tiles(strategy, notes);
  turn_off_overlap_of_slices(strategy, notes);
  turn_off_stashing(strategy, notes);
  note_what_is_idle(strategy, device, notes);
  if (task == Task::Inference) turn_off_what_only_trains(strategy, notes);
  if (task == Task::Training && !strategy.updatable_buffers.empty())
    notes.push_back("updatableNamedBuffers: no effect in training, which is told what to train by name");
  return strategy;
}

void check_overrides(const Strategy& strategy, const ir::Graph& graph) {
  if (strategy.location_overrides.empty()) return;
  std::set<std::string_view> names;
  for (const ir::Value& value : graph.values) names.insert(value.name);
  for (const auto& [name, location] : strategy.location_overrides) {
    if (names.contains(name)) continue;
    throw Error(
        "tensorLocationSettingsOverride '{}': the model has no tensor of this name, the nearest is '{}'",
        name, ir::nearest(name, {names.begin(), names.end()}));
  }
}

std::string flags_for_processors(const Strategy& strategy, std::int64_t needed,
                                 const device::Device& device) {
  std::string flags = strategy.ipus > 0 && strategy.ipus < needed ? fmt::format(" --ipus {}", needed) : "";
  if (device.processors < needed) {
    const std::string larger = device::larger_machine(device, needed);
    if (larger.empty()) return "";
    flags += " --device " + larger;
  }
  return flags.empty() ? "" : flags.substr(1);
}

std::string advice_for_processors(const Strategy& strategy, std::int64_t needed,
                                  const device::Device& device) {
  const std::string flags = flags_for_processors(strategy, needed, device);
  return flags.empty() ? "" : fmt::format(" ({})", flags);
}

void check_device(const Strategy& strategy, const device::Device& device) {
  if (strategy.ipus > device.processors) {
    throw Error("numIPUs: {} found, device '{}' has {}{}", strategy.ipus, device.name, device.processors,
                advice_for_processors(strategy, strategy.ipus, device));
  }
  if (strategy.io_tiles >= device.tiles) {
    throw Error("numIOTiles: {} found, fewer than the {} tiles of a processor of device '{}' needed",
                strategy.io_tiles, device.tiles, device.name);
  }
}

void check_processors(const Strategy& strategy, std::int64_t of_replica, const device::Device& device) {
  const std::int64_t needed = of_replica * strategy.replicas;
  const int found = strategy.ipus > 0 ? strategy.ipus : device.processors;
  if (needed > found) {
    throw Error("{} processor{} found ({}), {} needed: {} a replica, replicatedGraphCount {}{}", found,
                found == 1 ? "" : "s",
                strategy.ipus > 0 ? "numIPUs" : fmt::format("device '{}'", device.name), needed, of_replica,
                strategy.replicas, advice_for_processors(strategy, needed, device));
  }
}

void check_placement(const Strategy& strategy, const ir::Placement& placement, const device::Device& device) {
  check_processors(strategy, placement.processors, device);
}

void check_waits(const Strategy& strategy, const ir::Optimizer& optimizer) {
  if (!strategy.pipelining || runs_empty(strategy)) return;
  const bool clips = std::any_of(optimizer.clip_norms.begin(), optimizer.clip_norms.end(),
                                 [](const ir::ClipNorm& group) { return group.weights.size() != 1; });
  if (!clips && !strategy.loss_scaling.automatic) return;
  throw Error(
      "accumulationFactor: 1 found, at least 2 needed with enablePipelining and {}: "
      "stages update before the gradients of all are known",
      clips ? "a norm of several weights' gradients" : "automatic loss scaling");
}

}  // namespace podium
