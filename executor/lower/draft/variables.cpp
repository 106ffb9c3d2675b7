#include "executor/lower/draft/variables.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "executor/lower/graph/reductions.h"
#include "ir/at.h"

namespace podium::lower {

using executor::Role;
using ir::ValueId;

namespace {

constexpr int kNone = -1;

Role role_of(ir::VariableKind kind) {
  switch (kind) {
    case ir::VariableKind::Weight:
    case ir::VariableKind::Statistic:
      return Role::Weight;
    case ir::VariableKind::OptimizerState:
      return Role::OptimizerState;
    case ir::VariableKind::Accumulator:
      return Role::Accumulator;
  }
  IR_CHECK(false);
}

// Names of inputs and of what ops make, as the lists of a Training use them.
std::map<std::string_view, ValueId> by_name(const ir::Graph& graph) {
  std::map<std::string_view, ValueId> ids;
  for (ValueId id : graph.inputs) ids.emplace(graph[id].name, id);
  for (const ir::Op& op : graph.ops) {
    for (ValueId id : op.outputs) {
      if (id.valid()) ids.emplace(graph[id].name, id);
    }
  }
  return ids;
}

// Per value, the processor of the op that makes it and of the first that reads it.
struct Places {
  std::vector<int> made;
  std::vector<int> read;

  Places(const ir::Graph& graph, const ir::Placement& placement)
      : made(graph.values.size(), kNone), read(graph.values.size(), kNone) {
    for (std::size_t i = 0; i < graph.ops.size(); ++i) {
      for (ValueId id : graph.ops[i].inputs) {
        if (id.valid() && read[at(id)] == kNone) read[at(id)] = placement.ops[i].processor;
      }
      for (ValueId id : graph.ops[i].outputs) {
        if (id.valid()) made[at(id)] = placement.ops[i].processor;
      }
    }
  }
};

}  // namespace

Variables::Variables(const ir::Training& training, const ir::Placement& placement,
                     const std::map<std::string, ir::TensorLocation>& locations, Parts parts)
    : index_(training.graph.values.size(), kNone),
      becomes_(index_.size(), kNone),
      hyper_(index_.size(), kNone),
      is_update_(training.graph.outputs.size(), false),
      slices_(training.slices),
      reduction_groups_(reduction_groups(training, placement)),
      parts_(std::move(parts)) {
  const ir::Graph& graph = training.graph;
  const std::map<std::string_view, ValueId> ids = by_name(graph);
  const Places places(graph, placement);
  for (const ir::Variable& variable : training.variables) {
    const ValueId value = ids.at(variable.name);
    index_[at(value)] = static_cast<int>(all_.size());
    all_.push_back({value, std::max(places.read[at(value)], 0), role_of(variable.kind), variable.initial,
                    locations.at(variable.name)});
  }
  for (std::size_t v = 0; v < all_.size(); ++v) {
    const ir::Variable& variable = training.variables[v];
    const auto weight = ids.find(all_[v].role == Role::Weight ? variable.name : variable.weight);
    const int place = weight == ids.end() ? kNone : index_[at(weight->second)];
    if (place != kNone) all_[v].weight = static_cast<std::size_t>(place);
  }
  std::vector<bool> is_placed(all_.size(), false);
  for (const ir::Update& update : training.updates) {
    const ValueId value = graph.outputs[update.output];
    const int variable = index_[at(ids.at(update.variable))];
    PlacedVariable& placed = all_[variable];
    placed.accumulates = placed.accumulates || !update.outer;
    const int processor = places.made[at(value)];
    if (is_placed[variable] && placed.processor != processor) {
      throw Error("variable '{}' is updated on ipu {} and on ipu {}, one processor is needed",
                  update.variable, placed.processor, processor);
    }
    placed.processor = processor;
    is_placed[variable] = true;
    becomes_[at(value)] = variable;
    is_update_[update.output] = true;
  }
  for (ValueId id : graph.outputs) {
    if (training.sample_axes.contains(graph[id].name)) in_slices_.insert(id);
  }
  for (const std::string& name : training.hyper_parameters) hyper_[at(ids.at(name))] = 1;
  for (const std::string& name : training.reduced) reduced_.push_back(ids.at(name));
  if (training.reduces_by_mean) reduction_ = executor::CollectiveReduction::Mean;
  for (const ir::Op& op : graph.ops) {
    is_outer_.push_back(ir::is_outer(op));
    is_late_.push_back(!is_outer_.back() && op.is("Identity") && becomes_[at(op.outputs[0])] != kNone);
    is_reset_.push_back(is_outer_.back() &&
                        std::any_of(op.outputs.begin(), op.outputs.end(), [&](ValueId id) {
                          const int variable = id.valid() ? becomes_[at(id)] : kNone;
                          return variable != kNone && all_[variable].role == Role::Accumulator;
                        }));
  }
}

std::optional<ValueId> Variables::updated(ValueId value) const {
  const int variable = find(becomes_, value);
  if (variable == kNone) return std::nullopt;
  return all_[variable].value;
}

ir::ReplicaGroup Variables::reduction_group(ValueId value) const {
  const auto found = reduction_groups_.find(value);
  return found == reduction_groups_.end() ? ir::ReplicaGroup{} : found->second;
}

const WholeTensor* Variables::whole(ValueId value) const {
  const auto found = parts_.find(value);
  return found == parts_.end() ? nullptr : &found->second;
}

}  // namespace podium::lower
