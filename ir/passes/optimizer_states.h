// What training keeps for a weight: the states of the optimizer and the accumulator.
#pragma once

#include <string_view>
#include <vector>

#include "ir/optimizer_spec.h"
#include "ir/training.h"

namespace podium::ir {

/// A tensor that an optimizer keeps for a weight.
struct KeptTensor {
  std::string_view name;  ///< PopART's, before the weight's: "Accl1___", "Accum___"
  VariableKind kind = VariableKind::OptimizerState;
  Type type;  ///< of the state of the whole weight
};

/// Before the name of a weight, that of its accumulator.
inline constexpr std::string_view kAccumulator = "Accum___";

/// All that is kept for a weight of a type with these values and forms, as the update makes it.
std::vector<KeptTensor> states_of(const WeightValues& values, const Type& weight);

/// The state of a weight of this type.
Type type_of(const StateSpec& state, const Optimizer& optimizer, const Type& weight);
DataType accumulator_type(const Optimizer& optimizer, DataType weight);

/// What a state of this type holds before the first gradient. `weight`: what the weight holds, undefined
/// where that is not known.
Tensor first_value(const StateSpec& state, const WeightValues& values, const Type& type,
                   const Tensor& weight);

/// Whether micro-batches of the weight add up in a state.
bool accumulates_itself(const WeightValues& values);

}  // namespace podium::ir
