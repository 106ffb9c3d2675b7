// The names by which model files know the states of optimizers: PopART's (semantics, section 10.5).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/training.h"

namespace podium {

/// "Accl1___w" is the state "Accl1___" of the weight "w"; "lossScaleUpdateFactor" belongs to no weight.
struct StateName {
  std::string_view state;
  std::string_view weight;
};

/// Nothing for a name that is none of a state, whatever weights there are.
std::optional<StateName> read_state_name(std::string_view name);

/// Of the tensors of a file, by name, those that are states of the weights of `forward`, or of none.
std::map<ir::StateKey, ir::Tensor> states_of(const ir::Training& forward,
                                             const std::map<std::string, ir::Tensor>& saved);

/// A variable as a session's user and a model file know it.
struct NamedVariable {
  std::string name;
  ir::VariableKind kind = ir::VariableKind::Weight;
  std::string weight = {};  ///< whose it is; "" for a weight itself
  std::string state = {};
};

std::vector<NamedVariable> named_variables(const ir::Training& training);

}  // namespace podium
