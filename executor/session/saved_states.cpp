#include "executor/session/saved_states.h"

#include <set>

#include "executor/session/model_weights.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/automatic_loss_scaling.h"

namespace podium {
namespace {

// The names of all states of optimizers, each followed by the name of a weight.
const std::set<std::string_view>& states_of_weights() {
  static const std::set<std::string_view> kStates = [] {
    std::set<std::string_view> states;
    for (const ir::OptimizerSpec* spec : ir::all_optimizers()) {
      for (const ir::StateSpec& state : spec->states) states.insert(state.name);
    }
    return states;
  }();
  return kStates;
}

}  // namespace

std::optional<StateName> read_state_name(std::string_view name) {
  if (name == ir::kLossScaleFactor) return StateName{name, ""};
  for (std::string_view state : states_of_weights()) {
    if (name.size() > state.size() && name.starts_with(state))
      return StateName{state, name.substr(state.size())};
  }
  return std::nullopt;
}

std::map<std::string, ir::Tensor> unread_constants(const ir::Graph& graph) {
  const auto uses = use_counts(graph);
  std::map<std::string, ir::Tensor> constants;
  for (ir::ValueId id : graph.value_ids()) {
    const ir::Value& value = graph[id];
    if (uses[id] == 0 && value.constant && is_weight(value)) constants.emplace(value.name, *value.constant);
  }
  return constants;
}

std::map<ir::StateKey, ir::Tensor> saved_states(const ir::Training& forward,
                                                const std::map<std::string, ir::Tensor>& unread) {
  std::map<std::string_view, ir::ValueId> weights{{"", ir::kNoValue}};
  for (const ir::Variable& weight : forward.variables) {
    weights.emplace(forward.graph[weight.value].name, weight.value);
  }
  std::map<ir::StateKey, ir::Tensor> states;
  for (const auto& [name, tensor] : unread) {
    const auto parts = read_state_name(name);
    const auto weight = parts ? weights.find(parts->weight) : weights.end();
    if (weight != weights.end()) states.emplace(ir::StateKey(parts->state, weight->second), tensor);
  }
  return states;
}

void note_unused_states(const std::map<std::string, ir::Tensor>& unread, const ir::Training& training,
                        const ir::Optimizer& optimizer, Notes& notes) {
  if (unread.empty()) return;
  std::set<std::string_view> used;
  for (const ir::Variable& variable : training.variables) used.insert(training.graph[variable.value].name);
  std::vector<std::string> unused;
  for (const auto& [name, state] : unread) {
    if (read_state_name(name) && !used.contains(name)) unused.push_back(name);
  }
  if (unused.empty()) return;
  notes.push_back(fmt::format("{} saved states are not used, this form of {} has none such: {}{}",
                              unused.size(), name_of(optimizer), unused[0],
                              unused.size() > 1 ? ", ..." : ""));
}

std::vector<NamedVariable> named_variables(const ir::Training& training) {
  std::vector<NamedVariable> named;
  for (const ir::Variable& variable : training.variables) {
    const std::string weight = variable.weight.valid() ? training.graph[variable.weight].name : "";
    named.push_back({training.graph[variable.value].name, variable.kind, weight, variable.state});
  }
  return named;
}

WholeNames whole_names(std::span<const annotate::CutVariable> cut) {
  WholeNames wholes;
  for (const annotate::CutVariable& variable : cut) {
    for (const annotate::CutVariable::Part& part : variable.parts) wholes.emplace(part.name, variable.name);
  }
  return wholes;
}

std::string whole_name(const std::string& name, const WholeNames& wholes) {
  const auto whole = wholes.find(name);
  return whole == wholes.end() ? name : std::string(whole->second);
}

std::vector<NamedVariable> with_whole_variables(std::vector<NamedVariable> variables,
                                                std::span<const annotate::CutVariable> cut) {
  const WholeNames wholes = whole_names(cut);
  std::vector<NamedVariable> named;
  std::set<std::string> seen;
  for (NamedVariable& variable : variables) {
    variable.name = whole_name(variable.name, wholes);
    variable.weight = whole_name(variable.weight, wholes);
    if (seen.insert(variable.name).second) named.push_back(std::move(variable));
  }
  return named;
}

}  // namespace podium
