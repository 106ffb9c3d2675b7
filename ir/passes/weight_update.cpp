#include "ir/passes/weight_update.h"

#include <algorithm>

namespace podium::ir {

PlacedScope::~PlacedScope() {
  for (auto op = graph_.ops.begin() + first_; op != graph_.ops.end(); ++op) {
    for (const Attribute& attribute : place_) set_attribute(*op, attribute.name, attribute.value);
    if (context_ == Context::Update) set_attribute(*op, kContextAttribute, kOuterContext);
  }
}

UpdateBuilder::UpdateBuilder(Training& to, const Optimizer& with, const Contributions& of,
                             const std::map<StateKey, Tensor>& continued)
    : training(to),
      optimizer(with),
      contributions(of),
      saved(continued),
      builder_(to.graph),
      terms_(builder_) {
  for (const Variable& one : to.variables) {
    if (!one.state.empty()) states_.emplace(StateKey{one.state, one.weight}, one.value);
  }
  for (const HyperParameter& one : to.hyper_parameters) {
    const DataType type = to.graph[one.value].type.element;
    scalars_.emplace(std::tuple(one.row, one.weight, type), term_of(one.value));
  }
}

Term UpdateBuilder::scalar(const ScalarSpec& scalar, ValueId weight, DataType type) {
  const std::string name = name_of(weight);
  const WeightValues values{optimizer, name, contributions};
  const OptimizerValue value = hyper_parameter(scalar, values);
  if (&scalar == &kLossScale) check_loss_scale(value.value, type);
  if (value.constant) return number(value.value, type);
  const ValueId whose = is_specific(scalar, values) ? weight : kNoValue;
  const auto [found, is_new] = scalars_.try_emplace({&scalar, whose, type});
  if (is_new) {
    const ValueId input =
        builder_.input(hyper_parameter_input(scalar, name_of(whose), type), Type::tensor(type, {}));
    training.hyper_parameters.push_back({input, &scalar, whose});
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

Term WeightUpdate::scalar(const ScalarSpec& scalar) const {
  const std::vector<const ScalarSpec*>& known = builder.optimizer.spec->scalars;
  IR_CHECK(&scalar == &kLossScale || std::find(known.begin(), known.end(), &scalar) != known.end(),
           "{} has no scalar '{}'", name_of(builder.optimizer), scalar.name);
  return builder.scalar(scalar, weight, type);
}

bool WeightUpdate::is_always(const ScalarSpec& scalar, double number) const {
  const OptimizerValue found = hyper_parameter(scalar, values());
  return found.constant && found.value == number;
}

Term WeightUpdate::quotient(Term dividend, Term divisor, const ScalarSpec& eps) const {
  const OptimizerValue found = hyper_parameter(eps, values());
  if (found.constant && filled(type, {}, found.value).to_number() != 0) return dividend / divisor;
  return choose(dividend.with("Equal", dividend.like(0)), dividend, dividend / divisor);
}

Term WeightUpdate::value() const { return cast_to(type, builder.term_of(weight)); }

void WeightUpdate::set(Term value) const {
  builder.update(weight, cast_to(builder.training.graph[weight].type.element, value), true);
}

Term WeightUpdate::stored(const StateSpec& state) const {
  IR_CHECK(state.is_kept == nullptr || state.is_kept(values()), "a state '{}'", state.name);
  const Type kept = type_of(state, builder.optimizer, builder.training.graph[weight].type);
  return builder.variable({.kind = VariableKind::OptimizerState,
                           .initial = first_value(state, values(), kept, initial),
                           .weight = weight,
                           .state = std::string(state.name)});
}

void WeightUpdate::set_state(const StateSpec& state, Term value, bool outer) const {
  const Type kept = type_of(state, builder.optimizer, builder.training.graph[weight].type);
  builder.update(builder.state(state.name, weight), cast_to(kept.element, value), outer);
}

Term cast_to(DataType type, Term term) {
  if (term.builder->type(term).element == type) return term;
  return term.cast(type);
}

}  // namespace podium::ir
