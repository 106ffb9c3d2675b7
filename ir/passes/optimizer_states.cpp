#include "ir/passes/optimizer_states.h"

#include "ir/gradients/gradient.h"

namespace podium::ir {

std::vector<KeptTensor> states_of(const WeightValues& values, const Type& weight) {
  const Optimizer& optimizer = values.optimizer;
  std::vector<KeptTensor> kept;
  if (values.contributions.accumulates() && !accumulates_itself(values)) {
    kept.push_back({kAccumulator, VariableKind::Accumulator,
                    Type::tensor(accumulator_type(optimizer, weight.element), weight.dims)});
  }
  for (const StateSpec& state : optimizer.spec->states) {
    if (state.is_kept != nullptr && !state.is_kept(values)) continue;
    kept.push_back({state.name, VariableKind::OptimizerState, type_of(state, optimizer, weight)});
  }
  return kept;
}

Type type_of(const StateSpec& state, const Optimizer& optimizer, const Type& weight) {
  const Dims dims = state.is_scalar ? Dims{} : weight.dims;
  switch (state.type) {
    case StateType::Stored:
      return Type::tensor(state_type_of(optimizer, weight.element), dims);
    case StateType::Computed:
      return Type::tensor(computed_type(weight.element), dims);
    case StateType::Float:
      return Type::tensor(DataType::Float, dims);
  }
  IR_CHECK(false);
}

DataType accumulator_type(const Optimizer& optimizer, DataType weight) {
  return optimizer.accumulator_type.value_or(weight);
}

Tensor first_value(const StateSpec& state, const WeightValues& values, const Type& type,
                   const Tensor& weight) {
  const double number = state.initial == nullptr ? 0 : state.initial(values);
  if (!state.starts_as_weight) return filled(type.element, type.dims, number);
  if (number == 0 || !weight.defined()) return filled(type.element, type.dims, 0);
  return multiplied(weight, number, type.element);
}

bool accumulates_itself(const WeightValues& values) {
  const OptimizerSpec& spec = *values.optimizer.spec;
  return spec.accumulates_itself != nullptr && spec.accumulates_itself(values);
}

}  // namespace podium::ir
