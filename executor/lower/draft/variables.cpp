// What each value is to the variables is found in four walks: over the variables (their class and location),
// over the updates (the processor that makes one owns its variable), over the readers (a processor other than
// the owner's that reads a weight for a micro-batch has a copy), and over the ops (which of them reset an
// accumulator, and which only give a variable its value for the next micro-batch). A variable that nothing
// updates is owned by its first reader.
#include "executor/lower/draft/variables.h"

#include <algorithm>
#include <set>

#include "executor/lower/graph/reductions.h"

namespace podium::lower {

using executor::Role;
using ir::ValueId;

namespace {

constexpr int kNowhere = -1;

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
struct Homes {
  ir::IdMap<ValueId, int> made;
  ir::IdMap<ValueId, int> read;

  explicit Homes(const PlacedGraph& placed) : made(std::ssize(placed.graph().values), kNowhere), read(made) {
    for (ir::OpId op : placed.graph().op_ids()) {
      for (ValueId id : inputs_of(placed.graph()[op])) {
        if (read[id] == kNowhere) read[id] = placed[op].processor;
      }
      for (ValueId id : outputs_of(placed.graph()[op])) made[id] = placed[op].processor;
    }
  }
};

}  // namespace

Variables::Variables(const PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations,
                     Shards shards)
    : roles_(std::ssize(placed.graph().values)),
      is_update_(placed.graph().outputs.size(), false),
      is_reset_(std::ssize(placed.graph().ops), false),
      is_late_(std::ssize(placed.graph().ops), false),
      slices_(placed.training.slices),
      reduction_groups_(reduction_groups(placed)),
      shards_(std::move(shards)) {
  const ir::Training& training = placed.training;
  add_variables(placed, locations);
  add_updates(placed);
  add_copies(placed);
  find_ops(placed);
  for (std::size_t i = 0; i < training.output_axes.size(); ++i) {
    if (training.output_axes[i]) roles_[training.graph.outputs[i]].is_in_slices = true;
  }
  for (const ir::HyperParameter& one : training.hyper_parameters) roles_[one.value].is_hyper_parameter = true;
  reduced_ = training.reduced;
  if (training.reduces_by_mean) reduction_ = executor::CollectiveReduction::Mean;
}

void Variables::add_variables(const PlacedGraph& placed,
                              const std::map<std::string, ir::TensorLocation>& locations) {
  const Homes homes(placed);
  for (const ir::Variable& variable : placed.training.variables) {
    const ValueId value = variable.value;
    roles_[value].variable = all_.size();
    all_.push_back({.value = value,
                    .processor = std::max(homes.read[value], 0),
                    .role = role_of(variable.kind),
                    .initial = variable.initial,
                    .location = locations.at(placed.graph()[value].name)});
  }
  for (int v = 0; v < std::ssize(all_); ++v) {
    const ir::Variable& variable = placed.training.variables[v];
    const ValueId weight = all_[v].role == Role::Weight ? variable.value : variable.weight;
    if (weight.valid() && is_variable(weight)) all_[v].weight = place(weight);
  }
}

void Variables::add_updates(const PlacedGraph& placed) {
  const Homes homes(placed);
  std::vector<bool> is_placed(all_.size(), false);
  for (const ir::Update& update : placed.training.updates) {
    const ValueId value = placed.graph().outputs[update.output];
    const int variable = place(update.variable);
    PlacedVariable& here = all_[variable];
    here.accumulates = here.accumulates || !update.outer;
    const int processor = homes.made[value];
    if (is_placed[variable] && here.processor != processor) {
      throw Error(
          "variable '{}' is updated on ipu {} and on ipu {}: one processor that owns it is needed, others "
          "have copies",
          placed.graph()[update.variable].name, here.processor, processor);
    }
    here.processor = processor;
    is_placed[variable] = true;
    roles_[value].becomes = variable;
    is_update_[update.output] = true;
  }
}

void Variables::add_copies(const PlacedGraph& placed) {
  std::vector<std::set<int>> readers(all_.size());
  for (ir::OpId op : placed.graph().op_ids()) {
    // An update reads what its owner has. In phases that is a copy, too: there values wait for no later
    // phase.
    if (placed.is_outer(op) && placed.placement.phases <= 1) continue;
    for (ValueId id : inputs_of(placed.graph()[op])) {
      if (is_variable(id)) readers[place(id)].insert(placed[op].processor);
    }
  }
  for (int v = 0; v < std::ssize(all_); ++v) {
    PlacedVariable& variable = all_[v];
    if (variable.role != Role::Weight || variable.accumulates) continue;
    readers[v].erase(variable.processor);
    variable.copies.assign(readers[v].begin(), readers[v].end());
  }
}

void Variables::find_ops(const PlacedGraph& placed) {
  for (ir::OpId id : placed.graph().op_ids()) {
    const ir::Op& op = placed.graph()[id];
    const auto becomes = [&](ValueId made) { return roles_[made].becomes; };
    if (!placed.is_outer(id)) {
      is_late_[id] = op.is("Identity") && becomes(op.outputs[0]) != kNone;
      continue;
    }
    for (ValueId made : outputs_of(op)) {
      if (becomes(made) != kNone && all_[becomes(made)].role == Role::Accumulator) is_reset_[id] = true;
    }
  }
}

std::vector<int> Variables::processors(ValueId value) const {
  const PlacedVariable& here = variable(value);
  std::vector<int> all{here.processor};
  all.insert(all.end(), here.copies.begin(), here.copies.end());
  return all;
}

std::optional<ValueId> Variables::updated(ValueId value) const {
  const int variable = roles_[value].becomes;
  if (variable == kNone) return std::nullopt;
  return all_[variable].value;
}

ir::ReplicaGroup Variables::reduction_group(ValueId value) const {
  const auto found = reduction_groups_.find(value);
  return found == reduction_groups_.end() ? ir::ReplicaGroup{} : found->second;
}

const WholeTensor* Variables::whole(ValueId value) const {
  const auto found = shards_.find(value);
  return found == shards_.end() ? nullptr : &found->second;
}

}  // namespace podium::lower
