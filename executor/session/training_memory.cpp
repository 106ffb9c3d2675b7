#include "executor/session/training_memory.h"

#include <algorithm>
#include <cmath>

#include "executor/lower/graph/recompute.h"
#include "executor/lower/placed/locations.h"
#include "executor/program.h"

namespace podium {
namespace {

std::map<ir::ValueId, TrainedWeight> held_for_weights(const ir::Training& training,
                                                      const Strategy& strategy) {
  lower::Warnings unheard;
  const ir::Placement anywhere{.ops = std::vector<ir::OpPlacement>(training.graph.ops.size())};
  const auto locations = lower::variable_locations(training, anywhere, strategy, unheard);
  std::map<ir::ValueId, TrainedWeight> weights;
  for (const ir::Variable& variable : training.variables) {
    const bool is_weight = variable.kind == ir::VariableKind::Weight;
    const ir::ValueId owner = is_weight ? variable.value : variable.weight;
    if (!owner.valid()) continue;
    const ir::Value& value = training.graph[variable.value];
    const ir::TensorLocation& location = locations.at(value.name);
    const std::size_t parts =
        location.sharded ? executor::replica_groups(location.domain, strategy.replicas).front().size() : 1;
    const std::int64_t whole = ir::packed_bytes(value.type);
    const std::int64_t here = whole / static_cast<std::int64_t>(parts);
    TrainedWeight& weight = weights[owner];
    (location.storage == ir::Storage::OffChip ? weight.while_updated : weight.held) += here;
    // An update computes a value for each state, and the gradient of a micro-batch is as large as its weight.
    if (variable.kind == ir::VariableKind::OptimizerState) weight.while_updated += here;
    if (is_weight) weight.while_updated += whole;
    if (is_weight && location.storage == ir::Storage::OnChip) weight.copy = here;
    // Without accumulation gradients wait for the update.
    if (is_weight && strategy.accumulation_factor == 1) weight.held += whole;
  }
  return weights;
}

// With the loss on a stage of its own: what recomputation spares is beside it or not.
std::vector<std::int64_t> stashed_by_op(const ir::Training& training, std::size_t forward_ops,
                                        const Strategy& strategy) {
  const ir::Graph& graph = training.graph;
  const auto makers = producers(graph);
  ir::Placement placement{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  const ir::OpId loss = makers[graph.outputs[training.loss]];
  placement.stages = 2;
  placement.ops[loss.index].stage = 1;
  std::vector<std::int64_t> bytes(forward_ops, 0);
  for (ir::ValueId id : lower::kept_for_backward({training, placement}, strategy)) {
    const ir::OpId maker = makers[id];
    if (maker.valid() && maker.index < std::ssize(bytes))
      bytes[maker.index] += ir::packed_bytes(graph[id].type);
  }
  for (std::int64_t& one : bytes) one /= std::max(1, strategy.batch_serialization.factor);
  return bytes;
}

}  // namespace

TrainingMemory memory_of_training(const ir::Training& training, std::size_t forward_ops,
                                  const Strategy& strategy, const device::Device& device) {
  TrainingMemory memory{.weights = held_for_weights(training, strategy),
                        .stash_bytes = stashed_by_op(training, forward_ops, strategy)};
  const auto updates = static_cast<std::size_t>(
      std::count_if(training.graph.ops.begin(), training.graph.ops.end(), ir::is_outer));
  const auto code_of_each = [&](std::size_t ops, std::size_t among) {
    return std::llround(device.code_bytes_per_op * static_cast<double>(ops) / static_cast<double>(among));
  };
  if (forward_ops > 0) memory.code_per_op = code_of_each(training.graph.ops.size() - updates, forward_ops);
  for (auto& [id, weight] : memory.weights) weight.held += code_of_each(updates, memory.weights.size());
  return memory;
}

}  // namespace podium
