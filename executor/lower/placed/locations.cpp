// Where a tensor lives follows from these, each before the next (semantics, section 7.2): an override by its
// name, taken as it is; what its op asks for; the settings of its class. Then what cannot be is taken back: a
// tensor below the class's number of elements stays on the chip, or whole; a constant is on the chip; there
// are no parts of activations, of what each replica has for itself, nor over a group of one replica; and
// without IO tiles everything loads to the compute tiles.
#include "executor/lower/placed/locations.h"

#include <set>

#include "executor/program.h"

namespace podium::lower {

using ir::DataType;
using ir::GroupType;
using ir::Storage;
using ir::TensorLocation;
using ir::TileSet;
using ir::ValueId;

namespace {

const LocationSettings& settings_of(TensorClass kind, const Strategy& strategy) {
  static const LocationSettings kOnChip{};
  switch (kind) {
    case TensorClass::Activation:
      return strategy.activations;
    case TensorClass::Weight:
      return strategy.weights;
    case TensorClass::OptimizerState:
      return strategy.optimizer_state;
    case TensorClass::Accumulator:
      return strategy.accumulators;
    case TensorClass::Constant:
      break;
  }
  return kOnChip;
}

bool can_be_sharded(const TensorLocation& location, const Strategy& strategy) {
  return executor::replica_group_size(location.domain, strategy.replicas) > 1;
}

// Switches sharding off where it cannot be.
void check_sharding(const LocatedTensor& tensor, const LocationSettings& settings, const Strategy& strategy,
                    TensorLocation& location, Warnings& warnings) {
  if (!location.sharded) return;
  if (tensor.kind == TensorClass::Activation || tensor.kind == TensorClass::Constant || tensor.per_replica ||
      tensor.elements < settings.min_elements_for_sharding) {
    location.sharded = false;
  } else if (!can_be_sharded(location, strategy)) {
    warnings.push_back(
        fmt::format("tensor '{}' is asked to be sharded, which needs replicas: it stays whole", tensor.name));
    location.sharded = false;
  }
}

TensorLocation without_missing_tiles(TensorLocation location, const Strategy& strategy) {
  if (strategy.io_tiles == 0) location.load_tiles = location.storage_tiles = TileSet::Compute;
  return location;
}

bool is_number_to_compute_with(DataType element) {
  return ir::is_float(element) || (element != DataType::Bool && ir::bit_width(element) <= 8);
}

// Constants that an op computes with. The scales of a Resize are numbers too, but they decide its output's
// shape.
ir::IdMap<ValueId, bool> numbers_to_compute_with(const ir::Graph& graph) {
  ir::IdMap<ValueId, bool> is_weight(std::ssize(graph.values), false);
  for (ValueId id : graph.value_ids()) {
    const ir::Value& value = graph[id];
    is_weight[id] = (value.constant.has_value() || value.data_left_out) && value.type.is_static() &&
                    is_number_to_compute_with(value.type.element);
  }
  for (const ir::Op& op : graph.ops) {
    if (!op.is("Resize")) continue;
    for (ValueId input : inputs_of(op)) is_weight[input] = false;
  }
  return is_weight;
}

TensorClass class_of(const ir::Variable& variable, bool accumulates) {
  switch (variable.kind) {
    case ir::VariableKind::Weight:
    case ir::VariableKind::Statistic:
      return TensorClass::Weight;
    case ir::VariableKind::OptimizerState:
      return accumulates ? TensorClass::Accumulator : TensorClass::OptimizerState;
    case ir::VariableKind::Accumulator:
      return TensorClass::Accumulator;
  }
  IR_CHECK(false);
}

}  // namespace

bool waits_on_io_tiles(const TensorLocation& location) {
  return location.storage == Storage::OnChip && location.storage_tiles == TileSet::IO;
}

bool is_remote(const TensorLocation& location) {
  return location.storage == Storage::OffChip || location.sharded || waits_on_io_tiles(location);
}

TensorLocation determine_location(const LocatedTensor& tensor, const Strategy& strategy, Warnings& warnings) {
  const auto given = strategy.location_overrides.find(tensor.name);
  if (given != strategy.location_overrides.end()) return without_missing_tiles(given->second, strategy);
  const LocationSettings& settings = settings_of(tensor.kind, strategy);
  TensorLocation location = settings.location;
  if (tensor.annotated && tensor.recomputed) {
    warnings.push_back(
        fmt::format("tensor '{}' is recomputed: the location its op asks for is not used", tensor.name));
  } else if (tensor.annotated) {
    location = *tensor.annotated;
  }
  if (tensor.kind == TensorClass::Constant || tensor.elements < settings.min_elements_for_off_chip) {
    location.storage = Storage::OnChip;
  }
  check_sharding(tensor, settings, strategy, location, warnings);
  return without_missing_tiles(location, strategy);
}

ir::IdMap<ValueId, std::optional<TensorLocation>> remote_weights(const ir::Graph& graph,
                                                                 const ir::Placement& placement,
                                                                 const Strategy& strategy,
                                                                 Warnings& warnings) {
  ir::IdMap<ValueId, std::optional<TensorLocation>> locations(std::ssize(graph.values));
  ir::IdMap<ValueId, bool> is_weight = numbers_to_compute_with(graph);
  for (const ir::Op& op : graph.ops) {
    for (ValueId id : inputs_of(op)) {
      if (!is_weight[id]) continue;
      is_weight[id] = false;  // each is looked at once
      const auto group = placement.variable_groups.find(graph[id].name);
      const bool alone = group != placement.variable_groups.end() && group->second.type == GroupType::None;
      TensorLocation location = determine_location({.name = graph[id].name,
                                                    .kind = TensorClass::Weight,
                                                    .elements = graph[id].type.element_count(),
                                                    .per_replica = alone},
                                                   strategy, warnings);
      location.sharded = location.sharded && can_be_sharded(location, strategy);
      if (is_remote(location)) locations[id] = location;
    }
  }
  return locations;
}

TensorLocation variable_location(const LocatedTensor& variable, const std::optional<ir::ReplicaGroup>& group,
                                 const Strategy& strategy, Warnings& warnings) {
  TensorLocation location = determine_location(variable, strategy, warnings);
  const bool among_others = group && !(*group == location.domain);
  if (location.sharded && among_others) {
    warnings.push_back(
        fmt::format("variable '{}' is asked to be sharded over replicas that do not share it: it stays whole",
                    variable.name));
  }
  const bool is_number = variable.elements == 1;  // of which there are no parts
  location.sharded = location.sharded && !among_others && !is_number && can_be_sharded(location, strategy);
  return location;
}

std::map<std::string, TensorLocation> stowed_activations(const ir::Graph& graph,
                                                         const ir::Placement& placement,
                                                         const Strategy& strategy, Warnings& warnings) {
  std::map<std::string, TensorLocation> stowed;
  const bool in_phases = strategy.phases.phases > 1;
  for (ir::OpId op : graph.op_ids()) {
    const ir::OpPlacement& place = placement.ops[op.index];
    for (ValueId id : outputs_of(graph[op])) {
      const ir::Value& value = graph[id];
      if (!value.type.is_static()) continue;
      const TensorLocation location =
          determine_location({.name = value.name,
                              .elements = value.type.element_count(),
                              .annotated = place.output_location,
                              .recomputed = place.recompute == ir::Recompute::Recompute},
                             strategy, warnings);
      const bool is_off_chip = location.storage == Storage::OffChip;
      if (is_off_chip ? !in_phases : waits_on_io_tiles(location)) stowed.emplace(value.name, location);
    }
  }
  return stowed;
}

std::map<std::string, TensorLocation> variable_locations(const ir::Training& training,
                                                         const ir::Placement& placement,
                                                         const Strategy& strategy, Warnings& warnings) {
  std::set<ValueId> accumulate;
  for (const ir::Update& update : training.updates) {
    if (!update.outer) accumulate.insert(update.variable);
  }
  std::map<std::string, TensorLocation> locations;
  for (const ir::Variable& variable : training.variables) {
    const ir::Value& value = training.graph[variable.value];
    const ir::Value& weight = variable.weight.valid() ? training.graph[variable.weight] : value;
    const auto found = placement.variable_groups.find(weight.name);
    std::optional<ir::ReplicaGroup> group;
    if (found != placement.variable_groups.end()) group = found->second;
    const bool alone = group && group->type == GroupType::None;
    locations[value.name] =
        variable_location({.name = value.name,
                           .kind = class_of(variable, accumulate.contains(variable.value)),
                           .elements = value.type.is_static() ? value.type.element_count() : 0,
                           .per_replica = alone || variable.kind == ir::VariableKind::Statistic},
                          group, strategy, warnings);
  }
  return locations;
}

}  // namespace podium::lower
