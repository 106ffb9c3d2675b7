// Placement by cost: the graph is sized, its ops are costed, and annotate/automatic.h cuts it into parts,
// which are processors, phases, or the chunks of a pipeline's schedule, each on the processor that the
// schedule wants.
#include "executor/cli/annotate_automatic.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "annotate/annotations.h"
#include "annotate/automatic.h"
#include "executor/cli/usage_error.h"
#include "executor/schedule/families.h"
#include "executor/session/sized_graph.h"
#include "executor/session/working_sizes.h"
#include "executor/sim/block_cost.h"
#include "ir/nearest.h"

namespace podium::cli {
namespace {

annotate::Costs costs_of(const ir::Graph& graph, const device::Device& device) {
  annotate::Costs costs = annotate::count_bytes(graph);
  for (const ir::Op& op : graph.ops)
    costs.seconds.push_back(sim::op_seconds(graph, op, device, device.tiles));
  return costs;
}

// Of which four fit into the memory: a phase, the next, and the same for its activations; even, for two that
// take turns.
int phases_by_memory(const annotate::Costs& costs, const annotate::AutomaticOptions& wanted) {
  constexpr std::int64_t kLeast = 4;
  const std::int64_t weights =
      std::accumulate(costs.weight_bytes.begin(), costs.weight_bytes.end(), std::int64_t{0});
  const std::int64_t memory = std::max<std::int64_t>(wanted.memory_bytes, 1);
  const std::set<std::int32_t> distinct(wanted.units.begin(), wanted.units.end());
  const auto units = std::max<std::int64_t>(std::ssize(distinct), 1);
  return static_cast<int>(std::min(std::max((kLeast * weights + memory - 1) / memory, kLeast), units));
}

// Phases that nobody gives a number for take turns on two.
int processors_of(const AnnotateOptions& options) { return options.ipus.value_or(2); }

const schedule::Family& family_in(const AnnotateOptions& options) {
  const std::string name = options.schedule.empty() ? "lockstep" : options.schedule;
  if (const schedule::Family* family = schedule::find_family(name)) return *family;
  std::vector<std::string_view> names;
  for (const schedule::Family& family : schedule::families()) names.push_back(family.name);
  throw UsageError("--schedule: '{}' found, one of {} needed, the nearest is '{}'", name,
                   fmt::join(names, ", "), ir::nearest(name, names));
}

// Enough micro-batches that the schedule's steady state is what its stages hold: those of a session that
// nobody says how many.
schedule::Schedule schedule_in(const AnnotateOptions& options) {
  constexpr int kMicroBatchesAStage = 4;
  const schedule::Family& family = family_in(options);
  const int processors = processors_of(options);
  const int chunks = options.chunks.value_or(family.shape == schedule::Shape::V ? 2 : 1);
  return make_schedule(family, {.processors = processors,
                                .micro_batches = kMicroBatchesAStage * processors * chunks,
                                .chunks = chunks});
}

// What each op makes waits for its gradient, as far as annotations alone can say: there is no loss yet. Each
// chunk of a processor gets an equal share of its memory.
std::vector<int> stages_of(const ir::Graph& graph, annotate::Costs& costs, annotate::AutomaticOptions wanted,
                           const AnnotateOptions& options) {
  if (options.schedule.empty() && !options.chunks) return annotate::pipeline(graph, costs, wanted);
  const schedule::Schedule schedule = schedule_in(options);
  for (int depth : depths(schedule)) wanted.stash_depths.push_back(depth);
  for (const ir::Op& op : graph.ops) {
    std::int64_t& bytes = costs.stash_bytes.emplace_back(0);
    for (ir::ValueId id : outputs_of(op)) bytes += ir::packed_bytes(graph[id].type);
  }
  wanted.memory_bytes = wanted.memory_bytes * schedule.layout.processors / schedule.layout.chunks();
  wanted.parts = schedule.layout.stages();
  wanted.stash_depths.resize(wanted.parts);
  return annotate::pipeline(graph, costs, wanted);
}

std::vector<int> parts_of(const ir::Graph& graph, annotate::AutomaticOptions wanted,
                          const AnnotateOptions& options, const device::Device& device) {
  annotate::Costs costs = costs_of(graph, device);
  wanted.memory_bytes = device.memory_bytes();
  wanted.seconds_per_byte = sim::seconds_per_byte(device);
  wanted.parts = processors_of(options);
  switch (*options.automatic) {
    case AutomaticPlacement::Shard:
      return annotate::shard(graph, costs, wanted);
    case AutomaticPlacement::Pipeline:
      return stages_of(graph, costs, std::move(wanted), options);
    case AutomaticPlacement::Phases:
      break;
  }
  wanted.parts = options.phases ? *options.phases : phases_by_memory(costs, wanted);
  if (device.streaming_load.bytes_per_second > 0) {
    for (std::size_t i = 0; i < costs.seconds.size(); ++i) {
      costs.seconds[i] += static_cast<double>(costs.weight_bytes[i]) / device.streaming_load.bytes_per_second;
    }
  }
  return annotate::phases(graph, costs, wanted);
}

// The flag that asks for fewer parts, where a model cannot be cut into as many as were asked for.
std::string flag_of_parts(const AnnotateOptions& options, int most) {
  if (options.automatic == AutomaticPlacement::Phases) return fmt::format(" (--phases {})", most);
  const bool has_stages = options.automatic == AutomaticPlacement::Pipeline;
  const schedule::Layout layout = has_stages ? schedule_in(options).layout : schedule::Layout{};
  const int of_processor = has_stages ? layout.stages() / layout.processors : 1;
  return most < of_processor ? "" : fmt::format(" (--ipus {})", most / of_processor);
}

std::vector<int> placed(const ir::Graph& graph, annotate::AutomaticOptions wanted,
                        const AnnotateOptions& options, const device::Device& device) {
  try {
    return parts_of(graph, std::move(wanted), options, device);
  } catch (const annotate::LacksCuts& error) {
    throw CannotSplit(Error("{}{}", error.what(), flag_of_parts(options, error.most)));
  }
}

// An op without part is known before the run: it goes to its first reader.
void fill_parts(const ir::Graph& graph, std::vector<int>& parts) {
  constexpr int kNobody = std::numeric_limits<int>::max();
  ir::IdMap<ir::ValueId, int> first_reader(std::ssize(graph.values), kNobody);
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    int first = kNobody;
    for (ir::ValueId id : outputs_of(graph.ops[i])) first = std::min(first, first_reader[id]);
    if (parts[i] < 0) parts[i] = first == kNobody ? 0 : first;
    for (ir::ValueId id : inputs_of(graph.ops[i])) first_reader[id] = std::min(first_reader[id], parts[i]);
  }
}

}  // namespace

void place_automatically(importer::Model& model, const AnnotateOptions& options,
                         const device::Device& device) {
  require_sizes(model);
  const SizedGraph sized = infer_sizes(model.graph);
  annotate::AutomaticOptions wanted;
  for (std::size_t op : sized.imported) wanted.units.push_back(model.nodes_of_ops[op]);
  const std::vector<int> found = placed(sized.graph, std::move(wanted), options, device);
  std::vector<int> parts(model.graph.ops.size(), -1);
  for (std::size_t i = 0; i < found.size(); ++i) parts[sized.imported[i]] = found[i];
  fill_parts(model.graph, parts);
  const bool phased = options.automatic == AutomaticPlacement::Phases;
  annotate::write_parts(model.graph, parts, phased ? annotate::kExecutionPhase : annotate::kVirtualGraph);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ir::Op& op = model.graph.ops[i];
    if (phased) set_attribute(op, annotate::kVirtualGraph, std::int64_t{parts[i] % processors_of(options)});
  }
  if (options.automatic != AutomaticPlacement::Pipeline) return;
  const schedule::Layout layout = schedule_in(options).layout;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ir::Op& op = model.graph.ops[i];
    set_attribute(op, annotate::kPipelineStage, std::int64_t{parts[i]});
    set_attribute(op, annotate::kVirtualGraph, std::int64_t{layout.processor_of[parts[i]]});
  }
}

}  // namespace podium::cli
