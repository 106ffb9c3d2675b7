#include "executor/session/state_names.h"

#include <set>

#include "ir/optimizer_spec.h"
#include "ir/passes/automatic_loss_scaling.h"

namespace podium {
namespace {

// Every state of some optimizer, whose name the weight's follows.
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

std::map<ir::StateKey, ir::Tensor> states_of(const ir::Training& forward,
                                             const std::map<std::string, ir::Tensor>& saved) {
  std::map<std::string_view, ir::ValueId> weights{{"", ir::kNoValue}};
  for (const ir::Variable& weight : forward.variables) {
    weights.emplace(forward.graph[weight.value].name, weight.value);
  }
  std::map<ir::StateKey, ir::Tensor> states;
  for (const auto& [name, tensor] : saved) {
    const auto parts = read_state_name(name);
    const auto weight = parts ? weights.find(parts->weight) : weights.end();
    if (weight != weights.end()) states.emplace(ir::StateKey(parts->state, weight->second), tensor);
  }
  return states;
}

std::vector<NamedVariable> named_variables(const ir::Training& training) {
  std::vector<NamedVariable> named;
  for (const ir::Variable& variable : training.variables) {
    const std::string weight = variable.weight.valid() ? training.graph[variable.weight].name : "";
    named.push_back({training.graph[variable.value].name, variable.kind, weight, variable.state});
  }
  return named;
}

}  // namespace podium
