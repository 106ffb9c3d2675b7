#include "executor/session/trained_model.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "annotate/annotations.h"
#include "executor/kernels/kernel.h"
#include "executor/lower/draft/locations.h"
#include "executor/lower/graph/recompute.h"
#include "executor/program.h"
#include "executor/session/state_names.h"
#include "executor/session/training_session.h"
#include "ir/at.h"
#include "ir/gradients/expand_gradients.h"
#include "ir/passes/make_training.h"

namespace podium {
namespace {

bool is_weight(const ir::Value& value) {
  return (value.constant || value.data_left_out) && value.type.is_tensor() &&
         ir::is_float(value.type.element);
}

void write_place(ir::Op& op, const ir::OpPlacement& place, const Options& options) {
  for (std::string_view plain :
       {annotate::kPlainVirtualGraph, annotate::kPlainPipelineStage, annotate::kPlainExecutionPhase}) {
    ir::remove_attribute(op, plain);
  }
  ir::set_attribute(op, annotate::kVirtualGraph, std::int64_t{place.processor});
  if (options.pipelining) ir::set_attribute(op, annotate::kPipelineStage, std::int64_t{place.stage});
  if (options.virtual_graph_mode == VirtualGraphMode::ExecutionPhases) {
    ir::set_attribute(op, annotate::kExecutionPhase, std::int64_t{place.phase});
  }
}

std::map<std::string, TrainedWeight> held_for_weights(const ir::Training& training, const Options& options) {
  lower::Warnings unheard;
  const ir::Placement anywhere{.ops = std::vector<ir::OpPlacement>(training.graph.ops.size())};
  const auto locations = lower::variable_locations(training, anywhere, options, unheard);
  std::map<std::string, TrainedWeight> weights;
  for (const ir::Variable& variable : training.variables) {
    const bool is_weight = variable.kind == ir::VariableKind::Weight;
    const ir::ValueId owner = is_weight ? variable.value : variable.weight;
    if (!owner.valid()) continue;
    const ir::Value& value = training.graph[variable.value];
    const ir::TensorLocation& location = locations.at(value.name);
    const std::size_t parts =
        location.sharded ? executor::replica_groups(location.domain, options.replicas).front().size() : 1;
    const std::int64_t whole = ir::packed_bytes(value.type);
    const std::int64_t here = whole / static_cast<std::int64_t>(parts);
    TrainedWeight& weight = weights[training.graph[owner].name];
    (location.storage == ir::Storage::OffChip ? weight.while_updated : weight.held) += here;
    // An update computes a value for each state, and the gradient of a micro-batch is as large as its weight.
    if (variable.kind == ir::VariableKind::OptimizerState) weight.while_updated += here;
    if (is_weight) weight.while_updated += whole;
    // Without accumulation gradients wait for the update.
    if (is_weight && options.accumulation_factor == 1) weight.held += whole;
  }
  return weights;
}

// With the loss on a stage of its own: what recomputation spares is beside it or not.
std::vector<std::int64_t> stashed_by_op(const ir::Training& training, std::size_t forward_ops,
                                        const Options& options) {
  const ir::Graph& graph = training.graph;
  const auto makers = producers(graph);
  ir::Placement placement{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  const ir::OpId loss = makers[ir::at(graph.outputs[training.loss])];
  placement.stages = 2;
  placement.ops[ir::at(loss)].stage = 1;
  std::vector<std::int64_t> bytes(forward_ops, 0);
  for (ir::ValueId id : lower::kept_for_backward({training, placement}, options)) {
    const std::size_t maker = ir::at(makers[ir::at(id)]);
    if (maker < forward_ops) bytes[maker] += ir::packed_bytes(graph[id].type);
  }
  for (std::int64_t& one : bytes) one /= std::max(1, options.batch_serialization.factor);
  return bytes;
}

}  // namespace

void optimize(ir::Training& forward) {
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::expand_gradients(forward.graph, options);
  ir::optimize(forward, options);
}

ir::Graph with_constants(ir::Graph graph, const std::vector<ir::Variable>& weights) {
  std::set<ir::ValueId> constants;
  for (const ir::Variable& weight : weights) {
    constants.insert(weight.value);
    if (weight.initial.defined()) graph[weight.value].constant = weight.initial;
    graph[weight.value].data_left_out = !weight.initial.defined();
  }
  std::erase_if(graph.inputs, [&](ir::ValueId id) { return constants.contains(id); });
  return graph;
}

std::vector<std::string> weight_names(const importer::Model& model) {
  const ir::Graph& graph = model.graph;
  const std::map<std::string, ir::Type> known = importer::initializer_types(model);
  const auto uses = use_counts(graph);
  std::vector<std::string> scalars;
  std::vector<std::string> others;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ir::Value& value = graph.values[i];
    if (uses[i] == 0 || !is_weight(value)) continue;
    if (model.source != nullptr && !known.contains(value.name)) continue;
    (value.type.rank() == 0 ? scalars : others).push_back(value.name);
  }
  return others.empty() ? scalars : others;
}

void resume(importer::Model& model, const importer::Model& saved) {
  std::map<std::string_view, const ir::Tensor*> values;
  for (const ir::Value& value : saved.graph.values) {
    if (value.constant) values.emplace(value.name, &*value.constant);
  }
  const std::vector<std::string> names = weight_names(model);
  const std::set<std::string_view> wanted(names.begin(), names.end());
  for (ir::Value& weight : model.graph.values) {
    if (!wanted.contains(weight.name)) continue;
    const auto found = values.find(weight.name);
    if (found == values.end()) throw Error("there is no weight '{}'", weight.name);
    if (found->second->type_and_dims() != weight.type) {
      throw Error("weight '{}': {} found, {} needed", weight.name, to_string(found->second->type_and_dims()),
                  to_string(weight.type));
    }
    weight.constant = *found->second;
    weight.data_left_out = false;
  }
  const std::map<std::string, ir::Tensor> own = unread_constants(model.graph);
  for (const auto& [name, value] : unread_constants(saved.graph)) {
    if (!own.contains(name)) model.graph.add_constant(name, value);
  }
}

std::map<std::string, ir::Tensor> unread_constants(const ir::Graph& graph) {
  const auto uses = use_counts(graph);
  std::map<std::string, ir::Tensor> constants;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    const ir::Value& value = graph.values[i];
    if (uses[i] == 0 && value.constant && is_weight(value)) constants.emplace(value.name, *value.constant);
  }
  return constants;
}

void note_unused_state(const std::map<std::string, ir::Tensor>& saved, const ir::Training& training,
                       const ir::Optimizer& optimizer, Notes& notes) {
  std::set<std::string_view> used;
  for (const ir::Variable& variable : training.variables) used.insert(training.graph[variable.value].name);
  std::vector<std::string> unused;
  for (const auto& [name, state] : saved) {
    if (read_state_name(name) && !used.contains(name)) unused.push_back(name);
  }
  if (unused.empty()) return;
  notes.push_back(fmt::format("{} saved states are not used, this form of {} has none such: {}{}",
                              unused.size(), name_of(optimizer), unused[0],
                              unused.size() > 1 ? ", ..." : ""));
}

TrainingMemory memory_of_training(const ir::Training& training, std::size_t forward_ops,
                                  const Options& options, const device::Device& device) {
  TrainingMemory memory{.weights = held_for_weights(training, options),
                        .stash_bytes = stashed_by_op(training, forward_ops, options)};
  const auto updates = static_cast<std::size_t>(
      std::count_if(training.graph.ops.begin(), training.graph.ops.end(), ir::is_outer));
  const auto code_of_each = [&](std::size_t ops, std::size_t among) {
    return std::llround(device.code_bytes_per_op * static_cast<double>(ops) / static_cast<double>(among));
  };
  if (forward_ops > 0) memory.code_per_op = code_of_each(training.graph.ops.size() - updates, forward_ops);
  for (auto& [name, weight] : memory.weights) weight.held += code_of_each(updates, memory.weights.size());
  return memory;
}

void place_forward(importer::Model& model, const std::vector<ir::Variable>& weights, const Options& options,
                   const device::Device& device, const TrainingMemory& training) {
  if (options.virtual_graph_mode == VirtualGraphMode::Off) return;
  importer::Model forward{
      .graph = with_constants(model.graph, weights), .info = model.info, .source = nullptr};
  const ir::Placement placement = place_model(forward, options, device, training);
  for (std::size_t i = 0; i < model.graph.ops.size(); ++i) {
    write_place(model.graph.ops[i], placement.ops[i], options);
  }
}

ir::Placement place_training(const importer::ModelInfo& info, const ir::Graph& graph,
                             const Options& options) {
  Options whole = options;
  if (whole.virtual_graph_mode == VirtualGraphMode::Auto) whole.virtual_graph_mode = VirtualGraphMode::Manual;
  if (whole.phases.phases > 1) whole.phases.phases = 2 * whole.phases.phases - 1;
  importer::Model model{.graph = graph, .info = info, .source = nullptr};
  return place_model(model, whole, {});
}

}  // namespace podium
