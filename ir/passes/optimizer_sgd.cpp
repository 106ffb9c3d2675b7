// SGD (semantics, section 10.3): without momentum, with a velocity that runs one update ahead, and with one
// apart.
#include "ir/element.h"
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

constexpr std::string_view kSeparate = "Accl1___";

// A product of which factors that are constant 1, and terms that are constant 0, are left out.
Term scaled(const WeightUpdate& update, Term value, std::string_view by) {
  return update.is_constant(by, 1) ? value : value * update.scalar(by);
}

Term plus_scaled(const WeightUpdate& update, Term sum, Term value, std::string_view by) {
  return update.is_constant(by, 0) ? sum : sum + scaled(update, value, by);
}

bool has_momentum(const WeightUpdate& update) {
  const OptimizerValue momentum = value_of(update.builder.optimizer, "momentum", update.name);
  return !momentum.constant || momentum.value != 0;
}

Tensor first_velocity(const WeightUpdate& update) {
  const Type& type = update.builder.training.graph[update.weight].type;
  const DataType stored = state_type_of(update.builder.optimizer, type.element);
  if (!update.initial.defined()) return filled(stored, type.dims, 0);
  return first_velocity(update.initial, update.name, update.builder.optimizer, stored);
}

void without_momentum(WeightUpdate& update) {
  const Term kept = scaled(update, update.value(), "weightDecayScaleFactor0");
  update.set(kept - scaled(update, update.gradient, "scaledLearningRate0"));
}

// The velocity holds what the next update starts from, so that gradients only add to it.
void with_velocity_ahead(WeightUpdate& update) {
  const bool accumulated = accumulates_into_velocity(update) && update.builder.contributions.accumulates();
  Term velocity = update.state(kVelocityAhead, first_velocity(update));
  if (!accumulated) velocity = velocity + scaled(update, update.gradient, "dampeningScaleFactor1");
  const Term weight = update.value() - scaled(update, velocity, "scaledLearningRate1");
  const Term next = velocity * update.scalar("scaledMomentum1");
  update.set_state(kVelocityAhead, plus_scaled(update, next, weight, "weightDecayScaleFactor1"));
  update.set(weight);
}

// As if both were apart, but with the velocity one update ahead: nesterov momentum and clipping need the
// gradient by itself.
void with_gradient_and_velocity_ahead(WeightUpdate& update) {
  const Term gradient = scaled(update, update.gradient, "dampeningScaleFactor2");
  const Term velocity = update.state(kVelocityAhead, first_velocity(update)) + gradient;
  Term step = velocity;
  if (update.builder.optimizer.nesterov) {
    step = plus_scaled(update, gradient, update.value(), "weightDecayScaleFactor2") +
           velocity * update.scalar("scaledMomentum2");
  }
  const Term weight = update.value() - scaled(update, step, "scaledLearningRate2");
  const Term next = velocity * update.scalar("scaledMomentum2");
  update.set_state(kVelocityAhead, plus_scaled(update, next, weight, "weightDecayScaleFactor2"));
  update.set(weight);
}

void with_velocity_apart(WeightUpdate& update) {
  const Term gradient = plus_scaled(update, scaled(update, update.gradient, "dampeningScaleFactor2"),
                                    update.value(), "weightDecayScaleFactor2");
  const Term velocity = update.state(kSeparate) * update.scalar("scaledMomentum2") + gradient;
  Term step = velocity;
  if (update.builder.optimizer.nesterov) step = gradient + velocity * update.scalar("scaledMomentum2");
  update.set_state(kSeparate, velocity);
  update.set(update.value() - scaled(update, step, "scaledLearningRate2"));
}

}  // namespace

Tensor first_velocity(const Tensor& weight, std::string_view name, const Optimizer& optimizer,
                      DataType stored) {
  const double factor = hyper_parameter("weightDecayScaleFactor1", optimizer, name, {}).value;
  if (factor == 0) return filled(stored, weight.dims(), 0);
  return multiplied(weight, factor, stored);
}

bool accumulates_into_velocity(const WeightUpdate& update) {
  const Optimizer& optimizer = update.builder.optimizer;
  const bool combined = optimizer.kind == OptimizerKind::Sgd && optimizer.sgd_state == SgdState::Combined;
  return combined && has_momentum(update) && !optimizer.nesterov && optimizer.clip_norms.empty();
}

void accumulate_into_velocity(WeightUpdate& update) {
  const Term velocity = update.state(kVelocityAhead, first_velocity(update));
  const Term gradient = scaled(update, cast_to(update.type, update.gradient), "dampeningScaleFactor1");
  update.set_state(kVelocityAhead, velocity + gradient, false);
  update.builder.training.reduced.push_back(update.builder.state(kVelocityAhead, update.weight));
}

void update_by_sgd(WeightUpdate& update) {
  if (!has_momentum(update)) return without_momentum(update);
  if (update.builder.optimizer.sgd_state == SgdState::Separate) return with_velocity_apart(update);
  if (accumulates_into_velocity(update)) return with_velocity_ahead(update);
  with_gradient_and_velocity_ahead(update);
}

}  // namespace podium::ir
