// A graph is placed in three steps: in mode Auto ops get the annotations of an automatic placement, which
// knows for each op its time, its bytes and the memory of training; annotate::place then reads annotations;
// for a graph that is to train the places go back to the ops as annotations, from which derivatives inherit.
#include "executor/session/place_model.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "annotate/annotations.h"
#include "annotate/automatic.h"
#include "annotate/check.h"
#include "annotate/place.h"
#include "annotate/spots.h"
#include "annotate/unheeded.h"
#include "executor/device/presets.h"
#include "executor/lower/strategies/schedule.h"
#include "executor/program.h"
#include "executor/schedule/families.h"
#include "executor/session/check_options.h"
#include "executor/session/model_weights.h"
#include "executor/sim/block_cost.h"
#include "importer/sharding.h"

namespace podium {
namespace {

annotate::Mode mode_of(VirtualGraphMode mode) {
  switch (mode) {
    case VirtualGraphMode::Off:
      return annotate::Mode::Off;
    case VirtualGraphMode::Manual:
      return annotate::Mode::Manual;
    case VirtualGraphMode::Auto:
      return annotate::Mode::Auto;
    case VirtualGraphMode::ExecutionPhases:
      return annotate::Mode::ExecutionPhases;
  }
  IR_CHECK(false);
}

annotate::Request request_of(const Strategy& strategy) {
  return {
      .mode = mode_of(strategy.virtual_graph_mode),
      .pipelining = strategy.pipelining,
      .processors = strategy.ipus / strategy.replicas,
      .phases = strategy.phases.phases,
      .phase_stages = strategy.phases.stages,
      .accumulates = strategy.accumulation_factor * std::max(1, strategy.batch_serialization.factor) > 1 ||
                     strategy.pipeline_order != PipelineOrder::Lockstep};
}

// At the first op that reads a weight, where count_bytes has counted the weight itself.
void count_training(const ir::Graph& graph, const TrainingMemory& training, annotate::Costs& costs) {
  costs.stash_bytes = training.stash_bytes;
  std::set<ir::ValueId> counted;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    costs.weight_bytes[i] += training.code_per_op;
    for (ir::ValueId id : graph.ops[i].inputs) {
      if (!id.valid()) continue;
      const auto weight = training.weights.find(id);
      if (weight == training.weights.end() || !counted.insert(id).second) continue;
      costs.weight_bytes[i] += weight->second.held - ir::packed_bytes(graph[id].type);
      costs.activation_bytes[i] = std::max(costs.activation_bytes[i], weight->second.while_updated);
    }
  }
  for (auto& [id, shared] : costs.shared) {
    const auto weight = training.weights.find(id);
    if (weight == training.weights.end()) continue;
    shared = {.bytes = weight->second.copy, .gradient_bytes = ir::packed_bytes(graph[id].type)};
    const auto reads = [&, weight = id](const ir::Op& op) {
      return std::ranges::count(op.inputs, weight) > 0;
    };
    const auto last = std::find_if(graph.ops.rbegin(), graph.ops.rend(), reads);
    const auto first = std::find_if(graph.ops.begin(), graph.ops.end(), reads);
    // The sum of its gradients passes through the processors between its readers.
    for (auto op = first; op != last.base(); ++op) {
      costs.activation_bytes[op - graph.ops.begin()] += shared.gradient_bytes;
    }
  }
}

annotate::Costs costs_of(const ir::Graph& graph, const Strategy& strategy, const device::Device& device,
                         const TrainingMemory& training) {
  annotate::Costs costs = annotate::count_bytes(graph);
  count_training(graph, training, costs);
  costs.seconds.reserve(graph.ops.size());
  for (const ir::Op& op : graph.ops) {
    costs.seconds.push_back(sim::op_seconds(graph, op, device, device.tiles - strategy.io_tiles));
  }
  return costs;
}

// The chunks that a processor gets: two where a V is asked for.
int chunks_of(const Strategy& strategy) {
  if (strategy.pipeline_chunks > 1 || strategy.pipeline_order == PipelineOrder::Listed)
    return strategy.pipeline_chunks;
  return schedule::family_of(strategy.pipeline_order).shape == schedule::Shape::V ? 2 : 1;
}

// The chunks that a list names, each on the processor whose list has it.
schedule::Schedule listed_schedule(const Strategy& strategy, int processors, int micro_batches) {
  std::map<int, int> processor_of;
  for (int r = 0; r < std::ssize(strategy.pipeline_list); ++r) {
    for (const schedule::Action& action : strategy.pipeline_list[r])
      processor_of.try_emplace(action.chunk, r);
  }
  schedule::Schedule schedule{
      .layout = {.processors = processors}, .micro_batches = micro_batches, .orders = strategy.pipeline_list};
  for (const auto& [chunk, processor] : processor_of) {
    if (chunk != schedule.layout.chunks()) {
      throw Error("pipeline schedule: chunk {} found and no chunk {}", chunk, schedule.layout.chunks());
    }
    schedule.layout.processor_of.push_back(processor);
  }
  if (std::ssize(strategy.pipeline_list) != processors) {
    throw Error("pipeline schedule: {} lists found, {} needed: one for each processor",
                strategy.pipeline_list.size(), processors);
  }
  return schedule;
}

// Each chunk is a stage, on the processor that the schedule wants it on; of two copies of the model the first
// is placed. A processor's memory is cut into equal shares for its chunks.
void pipeline_by_cost(ir::Graph& graph, const Strategy& strategy, const annotate::Costs& costs,
                      annotate::AutomaticOptions automatic) {
  const int chunks = chunks_of(strategy);
  const int micro_batches = micro_batches_of_cycles(strategy);
  const int processors = automatic.parts;
  schedule::Layout layout = layout_of(schedule::Shape::Loop, processors, chunks);
  if (strategy.pipeline_order == PipelineOrder::Lockstep) {
    automatic.stash_depths = lower::stash_depths(lower::lockstep(), processors * chunks, micro_batches);
  } else {
    const schedule::Schedule schedule = pipeline_schedule(strategy, processors, micro_batches);
    layout = schedule.layout;
    for (int depth : depths(schedule)) automatic.stash_depths.push_back(depth);
    automatic.stash_depths.resize(layout.stages());
  }
  automatic.parts = layout.stages();
  automatic.memory_bytes = automatic.memory_bytes * processors / layout.chunks();
  const std::vector<int> parts = annotate::pipeline(graph, costs, automatic);
  annotate::write_parts(graph, parts, annotate::kPipelineStage);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ir::set_attribute(graph.ops[i], annotate::kVirtualGraph, std::int64_t{layout.processor_of[parts[i]]});
  }
}

// What to type where a model has fewer parts than there are processors. Here nobody knows how many devices of
// a configuration a processor stands for.
std::string fewer_processors(const Strategy& strategy, int parts) {
  const std::int64_t stages = strategy.pipelining ? parts / chunks_of(strategy) : parts;
  if (!strategy.device_configuration.empty() || stages < (strategy.pipelining ? 2 : 1)) return "";
  return fmt::format(" (--ipus {})", stages * strategy.replicas * strategy.tensor_parallel.group());
}

void place_by_cost(ir::Graph& graph, const Strategy& strategy, const device::Device& device,
                   const TrainingMemory& training) {
  const int processors = (strategy.ipus > 0 ? strategy.ipus : device.processors) / strategy.replicas;
  if (processors <= 1)
    return annotate::write_parts(graph, std::vector<int>(graph.ops.size()), annotate::kVirtualGraph);
  const annotate::Costs costs = costs_of(graph, strategy, device, training);
  annotate::AutomaticOptions automatic{.parts = processors,
                                       .memory_bytes = device.memory_bytes(),
                                       .seconds_per_byte = sim::seconds_per_byte(device)};
  if (!strategy.virtual_graph_split_ratios.empty()) {
    const auto& ratios = strategy.virtual_graph_split_ratios;
    return annotate::write_parts(graph, annotate::split_by_ratio(graph, costs, ratios, processors),
                                 annotate::kVirtualGraph);
  }
  try {
    if (strategy.pipelining) return pipeline_by_cost(graph, strategy, costs, automatic);
    annotate::write_parts(graph, annotate::shard(graph, costs, automatic), annotate::kVirtualGraph);
  } catch (const annotate::LacksCuts& error) {
    throw CannotSplit(Error("{}{}", error.what(), fewer_processors(strategy, error.most)));
  }
}

void write_place(ir::Op& op, const ir::OpPlacement& place, const Strategy& strategy) {
  for (std::string_view plain :
       {annotate::kPlainVirtualGraph, annotate::kPlainPipelineStage, annotate::kPlainExecutionPhase}) {
    ir::remove_attribute(op, plain);
  }
  ir::set_attribute(op, annotate::kVirtualGraph, std::int64_t{place.processor});
  if (strategy.pipelining) ir::set_attribute(op, annotate::kPipelineStage, std::int64_t{place.stage});
  if (strategy.virtual_graph_mode == VirtualGraphMode::ExecutionPhases) {
    ir::set_attribute(op, annotate::kExecutionPhase, std::int64_t{place.phase});
  }
}

// What the options say of products of a kind; nothing of ops that are none.
ProductPlanning planning_of(ir::Category category, const Strategy& strategy) {
  switch (category) {
    case ir::Category::MatrixProduct:
    case ir::Category::Attention:
      return strategy.matmuls;
    case ir::Category::Convolution:
    case ir::Category::WeightGradient:
      return strategy.convolutions;
    case ir::Category::Recurrent: {
      ProductPlanning planning = strategy.recurrent;
      if (strategy.matmuls.partials == Partials::Half) planning.partials = Partials::Half;
      return planning;
    }
    case ir::Category::None:
    case ir::Category::Elementwise:
    case ir::Category::Normalizing:
    case ir::Category::Control:
    case ir::Category::Plain:
      return {};
  }
  IR_CHECK(false);
}

}  // namespace

void plan_products(ir::Graph& graph, const Strategy& strategy) {
  for (ir::Op& op : graph.ops) {
    const ProductPlanning planning = planning_of(op.spec->category, strategy);
    if (planning.partials == Partials::Half && ir::find_attribute(op, ir::kPartialsType) == nullptr) {
      ir::set_attribute(op, ir::kPartialsType, std::string("half"));
    }
    if (planning.available_memory && ir::find_attribute(op, ir::kAvailableMemory) == nullptr) {
      ir::set_attribute(op, ir::kAvailableMemory, static_cast<float>(*planning.available_memory));
    }
  }
}

int micro_batches_of_cycles(const Strategy& strategy) {
  const int micro_batches =
      strategy.accumulation_factor > 1 ? strategy.accumulation_factor : strategy.batches_per_step;
  return micro_batches * std::max(1, strategy.batch_serialization.factor);
}

schedule::Schedule pipeline_schedule(const Strategy& strategy, int processors, int micro_batches) {
  if (strategy.pipeline_order == PipelineOrder::Listed || !strategy.pipeline_list.empty()) {
    return listed_schedule(strategy, processors, micro_batches);
  }
  return make_schedule(schedule::family_of(strategy.pipeline_order),
                       {.processors = processors,
                        .micro_batches = micro_batches,
                        .chunks = chunks_of(strategy),
                        .deferred = strategy.pipeline_deferred});
}

device::Device endless_device() {
  device::Device device = *device::find_preset(device::kDefaultPreset);
  device.processors = std::numeric_limits<int>::max();
  return device;
}

void check_annotations(const importer::Model& model, const Strategy& strategy, const device::Device& device,
                       int devices_of_group) {
  annotate::Request request = request_of(strategy);
  request.processors /= devices_of_group;
  const auto is_placed = [](const annotate::Annotations& op) { return op.processor || op.phase; };
  if (strategy.cuts_tensors() && std::ranges::none_of(annotate::read_all(model.graph), is_placed)) return;
  try {
    annotate::check(model.graph, model.info.metadata, request);
  } catch (const annotate::LacksProcessors& error) {
    const std::int64_t needed = std::int64_t{error.needed} * devices_of_group * strategy.replicas;
    throw Error("{}{}", error.what(), advice_for_processors(strategy, needed, device));
  }
}

Notes unheeded_annotations(const importer::Model& model, const Strategy& strategy, Task task) {
  Notes notes =
      annotate::unheeded(model.graph, model.info.metadata, request_of(strategy),
                         task == Task::Training ? annotate::Use::Training : annotate::Use::Inference);
  for (const importer::DeviceConfiguration& configuration : importer::read_sharding(model).configurations) {
    if (configuration.name == strategy.device_configuration) continue;
    notes.push_back(
        fmt::format("device configuration '{0}': no effect without --configuration {0}", configuration.name));
  }
  return notes;
}

ir::Placement place_graph(ir::Graph& graph, const annotate::Metadata& metadata, const Strategy& strategy,
                          const device::Device& device, const TrainingMemory& training) {
  plan_products(graph, strategy);
  annotate::Request request = request_of(strategy);
  if (strategy.virtual_graph_mode == VirtualGraphMode::Auto) {
    place_by_cost(graph, strategy, device, training);
    // Which has written stages, where there are several on a processor.
    request.mode = annotate::Mode::Manual;
  }
  return annotate::place(graph, metadata, request);
}

void place_forward(const ir::Training& forward, ir::Graph& trained, const annotate::Metadata& metadata,
                   const Strategy& strategy, const device::Device& device, const TrainingMemory& training) {
  if (strategy.virtual_graph_mode == VirtualGraphMode::Off) return;
  ir::Graph known = with_constants(forward);
  const ir::Placement placement = place_graph(known, metadata, strategy, device, training);
  for (std::size_t i = 0; i < placement.ops.size(); ++i)
    write_place(trained.ops[i], placement.ops[i], strategy);
}

ir::Placement place_training(ir::Graph graph, const annotate::Metadata& metadata, const Strategy& strategy) {
  Strategy whole = strategy;
  if (whole.virtual_graph_mode == VirtualGraphMode::Auto) whole.virtual_graph_mode = VirtualGraphMode::Manual;
  if (whole.phases.phases > 1) whole.phases.phases = 2 * whole.phases.phases - 1;
  return place_graph(graph, metadata, whole, {});
}

}  // namespace podium
