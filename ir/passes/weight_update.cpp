#include "ir/passes/weight_update.h"

namespace podium::ir {

Term UpdateBuilder::scalar(std::string_view name, std::string_view weight, DataType type) {
  const OptimizerValue value = hyper_parameter(name, optimizer, weight, contributions);
  if (name == "lossScaling") check_loss_scale(value.value, type);
  if (value.constant) return number(value.value, type);
  std::string input = hyper_parameter_input(name, optimizer, weight, contributions, type);
  auto found = inputs_.find(input);
  if (found == inputs_.end()) {
    training.hyper_parameters.push_back(input);
    found = inputs_.emplace(input, builder_.input(input, Type::tensor(type, {}))).first;
  }
  return term_of(found->second);
}

Term UpdateBuilder::variable(Variable variable) {
  auto found = inputs_.find(variable.name);
  if (found != inputs_.end()) return term_of(found->second);
  const Type type = variable.initial.type_and_dims();
  if (const auto kept = saved.find(variable.name); kept != saved.end()) {
    if (kept->second.type_and_dims() != type) {
      throw Error("saved state '{}' is {}, {} needed", variable.name, to_string(kept->second.type_and_dims()),
                  to_string(type));
    }
    variable.initial = kept->second;
  }
  found = inputs_.emplace(variable.name, builder_.input(variable.name, type)).first;
  training.variables.push_back(std::move(variable));
  return term_of(found->second);
}

void UpdateBuilder::update(std::string_view variable, Term value, bool outer) {
  training.updates.push_back({std::string(variable), training.graph.outputs.size(), outer});
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
  builder.update(name, cast_to(builder.training.graph[weight].type.element, value), true);
}

Term WeightUpdate::state(std::string_view prefix, double initial_value) const {
  const DataType stored = state_type_of(builder.optimizer, builder.training.graph[weight].type.element);
  return state(prefix, filled(stored, builder.training.graph[weight].type.dims, initial_value));
}

Term WeightUpdate::state(std::string_view prefix, Tensor initial_value) const {
  return cast_to(type, builder.variable({.name = std::string(prefix) + name,
                                         .kind = VariableKind::OptimizerState,
                                         .initial = std::move(initial_value),
                                         .weight = name}));
}

void WeightUpdate::set_state(std::string_view prefix, Term value, bool outer) const {
  const DataType stored = state_type_of(builder.optimizer, builder.training.graph[weight].type.element);
  builder.update(std::string(prefix) + name, cast_to(stored, value), outer);
}

Term cast_to(DataType type, Term term) {
  if (term.context->type(term).element == type) return term;
  return term.call("Cast", {{"to", static_cast<std::int64_t>(type)}});
}

}  // namespace podium::ir
