// Options are checked in three steps. Rules (kRules) name those that contradict each other. What a device, a
// placement or an optimizer does not have is an error, too. What is left is legal, but may have no effect:
// that is turned off, with a note, so that nobody after has to ask for the reasons again.
#include "executor/session/check_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "annotate/automatic.h"
#include "executor/lower/strategies/strategies.h"
#include "executor/session/option_rows.h"
#include "executor/session/option_words.h"
#include "executor/session/tensor_kinds.h"
#include "ir/nearest.h"

namespace podium {
namespace {

constexpr int kLeastIoTiles = 32;

bool has_phases(const Options& options) { return options.phases.phases > 1; }
bool serializes(const Options& options) { return options.batch_serialization.factor > 1; }

// Whether inputs or any anchor move as `fits` says.
template <class Fits>
bool any_exchange(const Options& options, Fits fits) {
  return fits(options.overlap_io) ||
         std::any_of(options.anchors.begin(), options.anchors.end(), [&](const auto& anchor) {
           return fits(anchor.second.exchange.value_or(options.overlap_io));
         });
}

bool overlaps(const Options& options) {
  return any_exchange(
      options, [](ir::ExchangeStrategy exchange) { return exchange != ir::ExchangeStrategy::JustInTime; });
}

// "" when the rule is kept.
using Rule = std::string (*)(const Options&);

std::string phases_need_their_mode(const Options& options) {
  if (!has_phases(options) || options.virtual_graph_mode == VirtualGraphMode::ExecutionPhases) return "";
  return fmt::format("executionPhaseSettings.phases {} needs virtualGraphMode ExecutionPhases, {} found",
                     options.phases.phases, word_of(options.virtual_graph_mode));
}

std::string pipelining_needs_processors(const Options& options) {
  if (!options.pipelining || options.virtual_graph_mode != VirtualGraphMode::Off) return "";
  return "enablePipelining needs virtualGraphMode Manual or Auto, Off found";
}

std::string one_forward_one_backward_runs_empty(const Options& options) {
  const bool runs_empty = options.pipelining && options.accumulation_factor > 1;
  if (options.pipeline_order == PipelineOrder::Lockstep || runs_empty) return "";
  return "pipelineSchedule 1F1B needs enablePipelining and an accumulationFactor of at least 2: the pipeline "
         "runs empty before each update";
}

std::string stashing_needs_pipelining(const Options& options) {
  if (options.pipelining || !options.weight_stashing) return "";
  return "enableWeightStashing needs enablePipelining: only stages that overlap meet weights of several "
         "versions";
}

std::string pipelining_excludes_phases(const Options& options) {
  if (!options.pipelining || options.virtual_graph_mode != VirtualGraphMode::ExecutionPhases) return "";
  return "enablePipelining needs virtualGraphMode Manual or Auto, ExecutionPhases found: "
         "a processor either is a stage or takes turns with the phases";
}

std::string pipelining_excludes_batch_serialization(const Options& options) {
  if (!options.pipelining || !serializes(options)) return "";
  return fmt::format(
      "batchSerializationSettings.factor {} found, 0 needed with enablePipelining: a stage runs whole "
      "micro-batches (a smaller micro-batch and a larger batchesPerStep do the same)",
      options.batch_serialization.factor);
}

std::string pipelining_excludes_every_n(const Options& options) {
  if (!options.pipelining) return "";
  for (const auto& [name, anchor] : options.anchors) {
    if (anchor.returns != AnchorReturn::EveryN) continue;
    return fmt::format("anchor '{}': EveryN found, All, Final or Sum needed with enablePipelining", name);
  }
  return "";
}

std::string every_n_divides_batches(const Options& options) {
  for (const auto& [name, anchor] : options.anchors) {
    if (anchor.returns != AnchorReturn::EveryN) continue;
    if (anchor.every >= 1 && options.batches_per_step % anchor.every == 0) continue;
    return fmt::format("anchor '{}': a period of {} found, one that divides batchesPerStep {} needed", name,
                       anchor.every, options.batches_per_step);
  }
  return "";
}

std::string stages_need_recomputation(const Options& options) {
  if (options.pipelining || options.recomputation != Recomputation::Pipeline) return "";
  return "autoRecomputation Pipeline needs enablePipelining";
}

std::string overlap_needs_processors(const Options& options) {
  if (!overlaps(options) || options.virtual_graph_mode != VirtualGraphMode::Off) return "";
  return "exchangeStrategy other than JustInTime needs a virtualGraphMode, Off found";
}

std::string overlap_step_is_not_supported(const Options& options) {
  const bool found = any_exchange(
      options, [](ir::ExchangeStrategy exchange) { return exchange == ir::ExchangeStrategy::OverlapStep; });
  return found ? "exchangeStrategy OverlapStep is not supported, OverlapLoops overlaps the most" : "";
}

std::string io_tiles_are_even(const Options& options) {
  if (options.io_tiles == 0 || (options.io_tiles >= kLeastIoTiles && options.io_tiles % 2 == 0)) return "";
  return fmt::format("numIOTiles {} found, an even number of at least {} needed", options.io_tiles,
                     kLeastIoTiles);
}

std::string io_modes_need_io_tiles(const Options& options) {
  const bool has_tiles = options.io_tiles > 0 && options.virtual_graph_mode != VirtualGraphMode::Off;
  if (!serializes(options) || options.batch_serialization.io_mode == IoMode::Compute || has_tiles) return "";
  return fmt::format(
      "batchSerializationSettings.ioMode {} needs numIOTiles of at least {} and a virtualGraphMode, "
      "{} and {} found",
      word_of(options.batch_serialization.io_mode), kLeastIoTiles, options.io_tiles,
      word_of(options.virtual_graph_mode));
}

std::string replicas_divide_ipus(const Options& options) {
  if (options.ipus == 0) return "";
  if (options.virtual_graph_mode == VirtualGraphMode::Off && options.ipus != options.replicas) {
    return fmt::format(
        "virtualGraphMode Off needs a processor a replica: numIPUs {} found, replicatedGraphCount {}",
        options.ipus, options.replicas);
  }
  if (options.ipus % options.replicas == 0) return "";
  return fmt::format("numIPUs {} found, a multiple of replicatedGraphCount {} needed", options.ipus,
                     options.replicas);
}

std::string domains_divide_replicas(const Options& options) {
  const auto refusal = [&](const ir::TensorLocation& location) -> std::string {
    const bool has_size = location.domain.type == ir::GroupType::Consecutive ||
                          location.domain.type == ir::GroupType::Orthogonal;
    if (!location.sharded || options.replicas == 1 || !has_size) return "";
    if (location.domain.size >= 1 && options.replicas % location.domain.size == 0) return "";
    return fmt::format(
        "shardingDomain: groups of {} replicas found, a size that divides replicatedGraphCount {} needed",
        location.domain.size, options.replicas);
  };
  for (const TensorKind& kind : kTensorKinds) {
    if (!kind.can_be_sharded) continue;
    if (std::string reason = refusal((options.*kind.settings).location); !reason.empty()) return reason;
  }
  for (const auto& [name, location] : options.location_overrides) {
    const std::string reason = refusal(location);
    if (!reason.empty()) return fmt::format("tensorLocationSettingsOverride '{}': {}", name, reason);
  }
  return "";
}

std::string split_ratios_fit(const Options& options) {
  const std::vector<double>& ratios = options.virtual_graph_split_ratios;
  if (ratios.empty()) return "";
  if (options.virtual_graph_mode != VirtualGraphMode::Auto)
    return "virtualGraphSplitRatios needs virtualGraphMode Auto";
  if (std::string reason = annotate::why_no_ratios(ratios); !reason.empty())
    return "virtualGraphSplitRatios: " + reason;
  const std::size_t processors = static_cast<std::size_t>(options.ipus / options.replicas);
  if (options.ipus == 0 || processors == ratios.size()) return "";
  return fmt::format("virtualGraphSplitRatios: {} ratios found, {} needed: one a processor of a replica",
                     ratios.size(), processors);
}

// Every pair of options that cannot go together, and every value that only another option makes wrong.
constexpr Rule kRules[] = {
    phases_need_their_mode,
    pipelining_needs_processors,
    stashing_needs_pipelining,
    pipelining_excludes_phases,
    pipelining_excludes_batch_serialization,
    pipelining_excludes_every_n,
    every_n_divides_batches,
    one_forward_one_backward_runs_empty,
    stages_need_recomputation,
    overlap_needs_processors,
    overlap_step_is_not_supported,
    io_tiles_are_even,
    io_modes_need_io_tiles,
    replicas_divide_ipus,
    domains_divide_replicas,
    split_ratios_fit,
};

void check_inference(const Options& options) {
  if (options.accumulation_factor > 1) {
    throw Error(
        "accumulationFactor: {} found, 1 needed: gradient accumulation is only available when training",
        options.accumulation_factor);
  }
  if (options.loss_scaling.automatic) {
    throw Error(
        "automaticLossScalingSettings.enabled: true found, loss scaling is only available when training");
  }
}

void check_device(const Options& options, const device::Device& device) {
  if (options.ipus > device.processors) {
    throw Error("numIPUs: {} found, device '{}' has {}", options.ipus, device.name, device.processors);
  }
  if (options.io_tiles >= device.tiles) {
    throw Error("numIOTiles: {} found, fewer than the {} tiles of a processor of device '{}' needed",
                options.io_tiles, device.tiles, device.name);
  }
}

void turn_off_sharding(Options& options, Notes& notes) {
  const auto turn_off = [&](const TensorKind& kind, const std::string& why) {
    bool& sharded = (options.*kind.settings).location.sharded;
    if (sharded)
      notes.push_back(fmt::format("replicatedTensorSharding of {}: no effect, {}", kind.noun, why));
    sharded = false;
  };
  for (const TensorKind& kind : kTensorKinds) {
    if (!kind.can_be_sharded) turn_off(kind, fmt::format("{} are never sharded", kind.noun));
  }
  if (options.replicas > 1) return;
  for (auto& [name, location] : options.location_overrides) {
    if (!location.sharded) continue;
    location.sharded = false;
    notes.push_back(fmt::format(
        "tensorLocationSettingsOverride '{}': replicatedTensorSharding has no effect, there is one replica",
        name));
  }
  for (const TensorKind& kind : kTensorKinds) turn_off(kind, "there is one replica");
}

void turn_off_overlap(Options& options) {
  options.overlap_io = ir::ExchangeStrategy::JustInTime;
  for (auto& [name, anchor] : options.anchors) anchor.exchange.reset();
}

void turn_off_io_tiles(Options& options, Notes& notes) {
  if (options.io_tiles > 0 && options.virtual_graph_mode == VirtualGraphMode::Off) {
    notes.push_back("numIOTiles: no effect with virtualGraphMode Off");
    options.io_tiles = 0;
  }
  if (options.io_tiles > 0) return;
  if (overlaps(options)) {
    notes.push_back("exchangeStrategy: nothing overlaps without numIOTiles");
    turn_off_overlap(options);
  }
  for (const TensorKind& kind : kTensorKinds) {
    ir::TensorLocation& location = (options.*kind.settings).location;
    location.load_tiles = ir::TileSet::Compute;
    location.storage_tiles = ir::TileSet::Compute;
  }
}

void turn_off_stashing(Options& options, Notes& notes) {
  if (!options.weight_stashing || options.accumulation_factor == 1) return;
  options.weight_stashing = false;
  notes.push_back(fmt::format(
      "enableWeightStashing: no effect with accumulationFactor {}, the pipeline runs empty before an update",
      options.accumulation_factor));
}

bool is_default(const LossScaling& s) {
  const LossScaling d;
  return std::tie(s.bin_edge, s.upper_proportion, s.period, s.tracking, s.tensors) ==
         std::tie(d.bin_edge, d.upper_proportion, d.period, d.tracking, d.tensors);
}

void turn_off_what_only_trains(Options& options, Notes& notes) {
  const Options untouched;
  const auto note = [&](std::string_view option) {
    notes.push_back(fmt::format("{}: no effect without training", option));
  };
  for (const Row<Options>& row : option_rows()) {
    if (row.used_by == UsedBy::All || row.access.write(options) == row.access.write(untouched)) continue;
    note(row.name);
    row.access.reset(options);
  }
  for (const TensorKind& kind : kTensorKinds) {
    ir::TensorLocation& location = (options.*kind.settings).location;
    if (kind.used_by == UsedBy::All || location == ir::TensorLocation{}) continue;
    note(kind.option);
    location = {};
  }
}

// In phases the slices of a micro-batch overlap, or nothing does.
void turn_off_overlap_of_slices(Options& options, Notes& notes) {
  if (!has_phases(options) || !serializes(options) || !overlaps(options)) return;
  notes.push_back(
      "exchangeStrategy: no effect in phases with batchSerializationSettings, whose ioMode IOOverlapped "
      "overlaps the slices");
  turn_off_overlap(options);
}

void note_what_is_idle(const Options& options, const device::Device& device, Notes& notes) {
  PhaseSettings untouched;
  untouched.phases = options.phases.phases;
  if (options.virtual_graph_mode == VirtualGraphMode::ExecutionPhases && !has_phases(options)) {
    notes.push_back("virtualGraphMode ExecutionPhases: no effect with fewer than 2 phases");
  } else if (!has_phases(options) && options.phases != untouched) {
    notes.push_back("executionPhaseSettings: no effect with fewer than 2 phases");
  }
  const bool keeps = !has_phases(options) && options.activations.location.storage == ir::Storage::OffChip;
  if (keeps) notes.push_back("activationTensorLocationSettings: no effect with fewer than 2 phases");
  const bool is_alone = options.virtual_graph_mode == VirtualGraphMode::Off && options.replicas == 1;
  if (options.sync != SyncPattern::Full && (is_alone || !device.synchronous)) {
    notes.push_back(fmt::format("syncPattern: no effect {}",
                                is_alone ? "on one processor" : "on a device that is not synchronous"));
  }
  if (options.reduction == Reduction::Sum && options.mean_strategy != MeanStrategy::Post) {
    notes.push_back(
        "meanAccumulationAndReplicationReductionStrategy: no effect with "
        "accumulationAndReplicationReductionType Sum");
  }
  if (!options.loss_scaling.automatic && !is_default(options.loss_scaling))
    notes.push_back("automaticLossScalingSettings: no effect without enabled");
  if (!serializes(options) && options.batch_serialization.io_mode != IoMode::Compute) {
    notes.push_back("batchSerializationSettings.ioMode: no effect without a factor of at least 2");
  }
}

}  // namespace

std::optional<std::string> why_illegal(const Options& options) {
  for (const Rule rule : kRules) {
    std::string reason = rule(options);
    if (!reason.empty()) return reason;
  }
  return std::nullopt;
}

Options check_options(Options options, const device::Device& device, Task task, Notes& notes) {
  if (const auto reason = why_illegal(options)) throw IllegalOptions(*reason);
  if (task == Task::Inference) check_inference(options);
  check_device(options, device);
  turn_off_sharding(options, notes);
  turn_off_io_tiles(options, notes);
  turn_off_overlap_of_slices(options, notes);
  turn_off_stashing(options, notes);
  note_what_is_idle(options, device, notes);
  if (task == Task::Inference) turn_off_what_only_trains(options, notes);
  return options;
}

void check_overrides(const Options& options, const ir::Graph& graph) {
  std::set<std::string_view> names;
  for (const ir::Value& value : graph.values) names.insert(value.name);
  for (const auto& [name, location] : options.location_overrides) {
    if (names.contains(name)) continue;
    throw Error(
        "tensorLocationSettingsOverride '{}': the model has no tensor of this name, the nearest is '{}'",
        name, ir::nearest(name, {names.begin(), names.end()}));
  }
}

void check_placement(const Options& options, const ir::Placement& placement, const device::Device& device) {
  const int needed = placement.processors * options.replicas;
  const int found = options.ipus > 0 ? options.ipus : device.processors;
  if (needed > found) {
    throw Error("{} processors found ({}), {} needed: {} a replica, replicatedGraphCount {}", found,
                options.ipus > 0 ? "numIPUs" : fmt::format("device '{}'", device.name), needed,
                placement.processors, options.replicas);
  }
  const bool accumulates = options.accumulation_factor > 1;
  const int micro_batches = accumulates ? options.accumulation_factor : options.batches_per_step;
  const int stages = options.pipelining ? lower::fewest_micro_batches(placement, options) : 0;
  if (micro_batches < stages) {
    throw Error("{}: {} found, at least the {} stages of the pipeline needed",
                accumulates ? "accumulationFactor" : "batchesPerStep", micro_batches, stages);
  }
}

void check_waits(const Options& options, const ir::Optimizer& optimizer) {
  if (!options.pipelining || options.accumulation_factor > 1) return;
  const bool clips = std::any_of(optimizer.clip_norms.begin(), optimizer.clip_norms.end(),
                                 [](const ir::ClipNorm& group) { return group.weights.size() != 1; });
  if (!clips && !options.loss_scaling.automatic) return;
  throw Error(
      "accumulationFactor: 1 found, at least the number of stages needed with enablePipelining and {}: "
      "stages update before the gradients of all are known",
      clips ? "a norm of several weights' gradients" : "automatic loss scaling");
}

}  // namespace podium
