#include "executor/session/place_model.h"

#include <algorithm>
#include <limits>
#include <set>

#include "annotate/annotations.h"
#include "annotate/automatic.h"
#include "annotate/place.h"
#include "executor/device/presets.h"
#include "executor/lower/strategies/schedule.h"
#include "executor/program.h"
#include "executor/sim/block_cost.h"

namespace podium {
namespace {

// Equal constants up to this size have become one (merge_equal), without being one weight of the model.
constexpr std::int64_t kSmallWeightBytes = 4096;

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

annotate::Request request_of(const Options& options) {
  return {.mode = mode_of(options.virtual_graph_mode),
          .pipelining = options.pipelining,
          .processors = options.ipus / options.replicas,
          .phases = options.phases.phases,
          .phase_stages = options.phases.stages,
          .accumulates = options.accumulation_factor * std::max(1, options.batch_serialization.factor) > 1};
}

// At the first op that reads a weight, where count_bytes has counted the weight itself.
void count_training(const ir::Graph& graph, const TrainingMemory& training, annotate::Costs& costs) {
  costs.stash_bytes = training.stash_bytes;
  std::set<ir::ValueId> counted;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    costs.weight_bytes[i] += training.code_per_op;
    for (ir::ValueId id : graph.ops[i].inputs) {
      if (!id.valid()) continue;
      const auto weight = training.weights.find(graph[id].name);
      if (weight == training.weights.end() || !counted.insert(id).second) continue;
      costs.weight_bytes[i] += weight->second.held - executor::device_bytes(graph[id].type);
      costs.activation_bytes[i] = std::max(costs.activation_bytes[i], weight->second.while_updated);
    }
  }
}

annotate::Costs costs_of(const ir::Graph& graph, const Options& options, const device::Device& device,
                         const TrainingMemory& training) {
  annotate::Costs costs = annotate::count_bytes(graph);
  count_training(graph, training, costs);
  costs.seconds.reserve(graph.ops.size());
  for (const ir::Op& op : graph.ops) {
    costs.seconds.push_back(sim::op_seconds(graph, op, device, device.tiles - options.io_tiles));
  }
  return costs;
}

// Slices of those that go through a pipeline before it is flushed.
int micro_batches_of_cycles(const Options& options) {
  const int micro_batches =
      options.accumulation_factor > 1 ? options.accumulation_factor : options.batches_per_step;
  return micro_batches * std::max(1, options.batch_serialization.factor);
}

void place_by_cost(ir::Graph& graph, const Options& options, const device::Device& device,
                   const TrainingMemory& training) {
  const int processors = (options.ipus > 0 ? options.ipus : device.processors) / options.replicas;
  if (processors <= 1)
    return annotate::write_parts(graph, std::vector<int>(graph.ops.size()), annotate::kVirtualGraph);
  const annotate::Costs costs = costs_of(graph, options, device, training);
  annotate::AutomaticOptions automatic{
      .parts = processors, .memory_bytes = device.memory_bytes(), .small_weight_bytes = kSmallWeightBytes};
  std::vector<int> parts;
  if (!options.virtual_graph_split_ratios.empty()) {
    parts = annotate::split_by_ratio(graph, costs, options.virtual_graph_split_ratios, processors);
  } else if (options.pipelining) {
    automatic.stash_depths =
        lower::stash_depths(lower::schedule_of(options), processors, micro_batches_of_cycles(options));
    parts = annotate::pipeline(graph, costs, automatic);
  } else {
    parts = annotate::shard(graph, costs, automatic);
  }
  annotate::write_parts(graph, parts, annotate::kVirtualGraph);
}

void sum_up_in_halves(ir::Graph& graph) {
  for (ir::Op& op : graph.ops) {
    const bool is_product = op.is("MatMul") || op.is("Gemm");
    if (!is_product || ir::attribute_if<std::string>(op, ir::kPartialsType) != nullptr) continue;
    ir::set_attribute(op, ir::kPartialsType, std::string("half"));
  }
}

}  // namespace

device::Device endless_device() {
  device::Device device = *device::find_preset(device::kDefaultPreset);
  device.processors = std::numeric_limits<int>::max();
  return device;
}

void check_annotations(const importer::Model& model, const Options& options) {
  annotate::check(model.graph, model.info.metadata, request_of(options));
}

ir::Placement place_model(importer::Model& model, const Options& options, const device::Device& device,
                          const TrainingMemory& training) {
  if (options.half_partials) sum_up_in_halves(model.graph);
  if (options.virtual_graph_mode == VirtualGraphMode::Auto)
    place_by_cost(model.graph, options, device, training);
  return annotate::place(model.graph, model.info.metadata, request_of(options));
}

}  // namespace podium
