#include "executor/session/training_memory.h"

#include <algorithm>
#include <cmath>

#include "executor/lower/graph/recompute.h"
#include "executor/lower/placed/locations.h"
#include "executor/program.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/optimizer_states.h"

namespace podium {
namespace {

// What one replica has of a tensor that it keeps for a weight, and where.
struct Held {
  std::int64_t bytes = 0;
  ir::Storage storage = ir::Storage::OnChip;
};

Held held(std::string name, lower::TensorClass kind, const ir::Type& type, const Strategy& strategy) {
  lower::Warnings unheard;
  const ir::TensorLocation location = lower::variable_location(
      {.name = std::move(name), .kind = kind, .elements = type.element_count()}, {}, strategy, unheard);
  const std::int64_t parts =
      location.sharded ? executor::replica_group_size(location.domain, strategy.replicas) : 1;
  return {ir::packed_bytes(type) / parts, location.storage};
}

TrainedWeight memory_of_weight(const ir::Value& value, const ir::WeightValues& values,
                               const Strategy& strategy) {
  TrainedWeight weight;
  const auto hold = [&](const Held& tensor) {
    (tensor.storage == ir::Storage::OffChip ? weight.while_updated : weight.held) += tensor.bytes;
  };
  const Held itself = held(value.name, lower::TensorClass::Weight, value.type, strategy);
  hold(itself);
  if (itself.storage == ir::Storage::OnChip) weight.copy = itself.bytes;
  const bool in_states = values.contributions.accumulates() && ir::accumulates_itself(values);
  for (const ir::KeptTensor& kept : ir::states_of(values, value.type)) {
    const bool is_state = kept.kind == ir::VariableKind::OptimizerState;
    const Held state =
        held(std::string(kept.name) + value.name,
             is_state && !in_states ? lower::TensorClass::OptimizerState : lower::TensorClass::Accumulator,
             kept.type, strategy);
    hold(state);
    // An update computes a value for each state.
    if (is_state) weight.while_updated += state.bytes;
  }
  // The gradient of a micro-batch is as large as its weight; without accumulation it waits for the update.
  const std::int64_t gradient = ir::packed_bytes(value.type);
  weight.while_updated += gradient;
  if (strategy.accumulation_factor == 1) weight.held += gradient;
  return weight;
}

std::map<ir::ValueId, TrainedWeight> held_for_weights(const ir::Differentiated& made,
                                                      const ir::TrainingRequest& request,
                                                      const Strategy& strategy,
                                                      const device::Device& device) {
  const ir::Graph& graph = made.training.graph;
  std::vector<std::string> names;
  for (const auto& [id, gradient] : made.gradients) names.push_back(graph[id].name);
  const ir::Optimizer optimizer = ir::for_weights(request.optimizer, names);
  ir::check_optimizer(optimizer, names);
  std::map<ir::ValueId, TrainedWeight> weights;
  std::map<ir::DataType, std::int64_t> code;  // of the update of a weight, by its type
  for (const auto& [id, gradient] : made.gradients) {
    const ir::Value& value = graph[id];
    const auto [bytes, is_new] = code.try_emplace(value.type.element);
    if (is_new) {
      const std::int64_t ops = ir::ops_of_update(optimizer, request.contributions, value.type.element);
      bytes->second = std::llround(device.code_bytes_per_op * static_cast<double>(ops));
    }
    weights[id] = memory_of_weight(value, {optimizer, value.name, request.contributions}, strategy);
    weights[id].held += bytes->second;
  }
  return weights;
}

// With the loss on a stage of its own: what recomputation spares is beside it or not.
std::vector<std::int64_t> stashed_by_op(const ir::Differentiated& made, const Strategy& strategy) {
  const ir::Graph& graph = made.training.graph;
  lower::PlacedGraph placed{made.training,
                            {.ops = std::vector<ir::OpPlacement>(graph.ops.size()), .stages = 2}};
  placed.placement.ops[made.derivatives.loss.number()].stage = 1;
  for (const auto& [weight, gradient] : made.gradients) placed.training.reduced.push_back(gradient);
  const auto makers = producers(graph);
  std::vector<std::int64_t> bytes(made.derivatives.forward_ops, 0);
  for (ir::ValueId id : lower::kept_for_backward(placed, strategy)) {
    const ir::OpId maker = makers[id];
    if (maker.valid() && maker.number() < std::ssize(bytes))
      bytes[maker.number()] += ir::packed_bytes(graph[id].type);
  }
  return bytes;
}

}  // namespace

TrainingMemory memory_of_training(const ir::Differentiated& made, const ir::TrainingRequest& request,
                                  const Strategy& strategy, const device::Device& device) {
  const ir::Graph& graph = made.training.graph;
  const std::int64_t forward_ops = made.derivatives.forward_ops;
  return {.weights = held_for_weights(made, request, strategy, device),
          .code_per_op = std::llround(device.code_bytes_per_op * static_cast<double>(graph.ops.size()) /
                                      static_cast<double>(forward_ops)),
          .stash_bytes = stashed_by_op(made, strategy)};
}

}  // namespace podium
