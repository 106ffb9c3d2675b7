#include "ir/passes/weight_update.h"

namespace podium::ir {

Term UpdateBuilder::scalar(std::string_view row, ValueId weight, DataType type) {
  const std::string name = name_of(weight);
  const OptimizerValue value = hyper_parameter(row, optimizer, name, contributions);
  if (row == "lossScaling") check_loss_scale(value.value, type);
  if (value.constant) return number(value.value, type);
  const ValueId whose = is_specific(row, optimizer, name, contributions) ? weight : kNoValue;
  const auto [found, is_new] = scalars_.try_emplace({row, whose, type});
  if (is_new) {
    const ValueId input =
        builder_.input(hyper_parameter_input(row, name_of(whose), type), Type::tensor(type, {}));
    training.hyper_parameters.push_back({input, std::string(row), whose});
    found->second = term_of(input);
  }
  return found->second;
}

Term UpdateBuilder::variable(Variable variable) {
  const StateKey key{variable.state, variable.weight};
  if (const auto found = states_.find(key); found != states_.end()) return term_of(found->second);
  const std::string name = variable.state + name_of(variable.weight);
  const Type type = variable.initial.type_and_dims();
  if (const auto kept = saved.find(key); kept != saved.end()) {
    if (kept->second.type_and_dims() != type) {
      throw Error("saved state '{}' is {}, {} needed", name, to_string(kept->second.type_and_dims()),
                  to_string(type));
    }
    variable.initial = kept->second;
  }
  variable.value = builder_.input(name, type);
  states_.emplace(key, variable.value);
  training.variables.push_back(std::move(variable));
  return term_of(training.variables.back().value);
}

void UpdateBuilder::update(ValueId variable, Term value, bool outer) {
  training.updates.push_back({variable, training.graph.outputs.size(), outer});
  builder_.output(value);
}

void UpdateBuilder::run_at(const std::vector<Attribute>& place, bool outer) {
  std::vector<Op>& ops = training.graph.ops;
  for (; placed_ops_ < ops.size(); ++placed_ops_) {
    for (const Attribute& attribute : place) set_attribute(ops[placed_ops_], attribute.name, attribute.value);
    if (outer) set_attribute(ops[placed_ops_], kContextAttribute, kOuterContext);
  }
}

bool WeightUpdate::is_constant(std::string_view value, double number) const {
  const OptimizerValue found = hyper_parameter(value, builder.optimizer, name, builder.contributions);
  return found.constant && found.value == number;
}

Term WeightUpdate::quotient(Term dividend, Term divisor, std::string_view eps) const {
  const OptimizerValue found = hyper_parameter(eps, builder.optimizer, name, builder.contributions);
  if (found.constant && filled(type, {}, found.value).to_number() != 0) return dividend / divisor;
  return choose(dividend.with("Equal", dividend.like(0)), dividend, dividend / divisor);
}

Term WeightUpdate::value() const { return cast_to(type, builder.term_of(weight)); }

void WeightUpdate::set(Term value) const {
  builder.update(weight, cast_to(builder.training.graph[weight].type.element, value), true);
}

Term WeightUpdate::state(std::string_view prefix, double initial_value) const {
  const DataType stored = state_type_of(builder.optimizer, builder.training.graph[weight].type.element);
  return state(prefix, filled(stored, builder.training.graph[weight].type.dims, initial_value));
}

Term WeightUpdate::state(std::string_view prefix, Tensor initial_value) const {
  return cast_to(type, builder.variable({.kind = VariableKind::OptimizerState,
                                         .initial = std::move(initial_value),
                                         .weight = weight,
                                         .state = std::string(prefix)}));
}

void WeightUpdate::set_state(std::string_view prefix, Term value, bool outer) const {
  const DataType stored = state_type_of(builder.optimizer, builder.training.graph[weight].type.element);
  builder.update(builder.state(prefix, weight), cast_to(stored, value), outer);
}

Term cast_to(DataType type, Term term) {
  if (term.context->type(term).element == type) return term;
  return term.call("Cast", {{"to", static_cast<std::int64_t>(type)}});
}

}  // namespace podium::ir
