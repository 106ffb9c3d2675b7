#include "executor/session/state_names.h"

#include <array>

namespace podium {
namespace {

struct StateRow {
  std::string_view state;
  bool of_weight = true;
};

constexpr std::array kStates{StateRow{"Accl___"},
                             StateRow{"Accl1___"},
                             StateRow{"Accl2___"},
                             StateRow{"Accl3___"},
                             StateRow{"Step___"},
                             StateRow{"PreviousLossScaling___"},
                             StateRow{"lossScaleUpdateFactor", false}};

}  // namespace

std::optional<StateName> read_state_name(std::string_view name) {
  for (const StateRow& row : kStates) {
    if (!name.starts_with(row.state)) continue;
    const std::string_view weight = name.substr(row.state.size());
    if (weight.empty() != row.of_weight) return StateName{row.state, weight};
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
