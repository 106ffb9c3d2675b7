#include "executor/lower/draft/variables.h"

#include <algorithm>

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
  const Places places(graph, placement);
  for (const ir::Variable& variable : training.variables) {
    const ValueId value = variable.value;
    index_[at(value)] = static_cast<int>(all_.size());
    all_.push_back({value, std::max(places.read[at(value)], 0), role_of(variable.kind), variable.initial,
                    locations.at(graph[value].name)});
  }
  for (std::size_t v = 0; v < all_.size(); ++v) {
    const ir::Variable& variable = training.variables[v];
    const ValueId weight = all_[v].role == Role::Weight ? variable.value : variable.weight;
    const int place = weight.valid() ? index_[at(weight)] : kNone;
    if (place != kNone) all_[v].weight = static_cast<std::size_t>(place);
  }
  std::vector<bool> is_placed(all_.size(), false);
  for (const ir::Update& update : training.updates) {
    const ValueId value = graph.outputs[update.output];
    const int variable = index_[at(update.variable)];
    PlacedVariable& placed = all_[variable];
    placed.accumulates = placed.accumulates || !update.outer;
    const int processor = places.made[at(value)];
    if (is_placed[variable] && placed.processor != processor) {
      throw Error("variable '{}' is updated on ipu {} and on ipu {}, one processor is needed",
                  graph[update.variable].name, placed.processor, processor);
    }
    placed.processor = processor;
    is_placed[variable] = true;
    becomes_[at(value)] = variable;
    is_update_[update.output] = true;
  }
  for (std::size_t i = 0; i < training.output_axes.size(); ++i) {
    if (training.output_axes[i]) in_slices_.insert(graph.outputs[i]);
  }
  for (const ir::HyperParameter& one : training.hyper_parameters) hyper_[at(one.value)] = 1;
  reduced_ = training.reduced;
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
