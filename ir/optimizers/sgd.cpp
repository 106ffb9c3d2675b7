// SGD (semantics, section 10.3): without momentum w -= lr (g + d w); with a velocity
//   v = m v + (1 - dampening) (g + d w),  w -= lr v,  or with nesterov momentum  w -= lr (g + d w + m v).
// The velocity is scaled by velocityScaling. It is kept apart (PopART's SGD2, scalars numbered 2), or in one
// state that runs one update ahead (SGD1, numbered 1): that one holds m v + d w already, so that the
// gradients of micro-batches only add to it and no accumulator is needed.
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

bool accumulates(const WeightValues& v) { return v.contributions.accumulates(); }

// Replicas that accumulate into the velocity add it up with the gradients in it.
double copies_of_velocity(const WeightValues& v) {
  return accumulates(v) && !v.reduces_by_mean() ? v.replicas() : 1;
}

double combined_factor(const WeightValues& v) {
  if (v.reduces_by_mean()) return 1.0 / v.contributions.accumulation;
  if (v.contributions.reduction == GradientReduction::Sum) return copies_of_velocity(v);
  return 1.0 / (accumulates(v) ? v.contributions.accumulation : v.replicas());
}

double scaled_decay(const WeightValues& v) {
  return (1 - v("dampening")) * v("velocityScaling") * v("weightDecay");
}

// Numbered as PopART numbers the forms that they belong to.
constexpr ScalarSpec kRate0{
    "scaledLearningRate0", {"learningRate", "dampening", kLossScaling}, [](const WeightValues& v) {
      return v("learningRate") * (1 - v("dampening")) / (v(kLossScaling) * v.divisor());
    }};
constexpr ScalarSpec kDecay0{
    "weightDecayScaleFactor0", {"learningRate", "dampening", "weightDecay"}, [](const WeightValues& v) {
      return 1 - v("learningRate") * (1 - v("dampening")) * v("weightDecay");
    }};
constexpr ScalarSpec kRate1{
    "scaledLearningRate1", {"learningRate", "velocityScaling"}, [](const WeightValues& v) {
      return v("learningRate") / (v("velocityScaling") * copies_of_velocity(v));
    }};
constexpr ScalarSpec kDampening1{
    "dampeningScaleFactor1", {"dampening", "velocityScaling", kLossScaling}, [](const WeightValues& v) {
      return (1 - v("dampening")) * v("velocityScaling") * combined_factor(v) / v(kLossScaling);
    }};
constexpr ScalarSpec kDecay1{
    "weightDecayScaleFactor1", {"dampening", "velocityScaling", "weightDecay"}, scaled_decay};
constexpr ScalarSpec kMomentum1{"scaledMomentum1", {"momentum"}, [](const WeightValues& v) {
                                  return v("momentum") / copies_of_velocity(v);
                                }};
constexpr ScalarSpec kRate2{"scaledLearningRate2",
                            {"learningRate", "velocityScaling"},
                            [](const WeightValues& v) { return v("learningRate") / v("velocityScaling"); }};
constexpr ScalarSpec kDampening2{
    "dampeningScaleFactor2", {"dampening", "velocityScaling", kLossScaling}, [](const WeightValues& v) {
      return (1 - v("dampening")) * v("velocityScaling") / (v(kLossScaling) * v.divisor());
    }};
constexpr ScalarSpec kDecay2{
    "weightDecayScaleFactor2", {"dampening", "velocityScaling", "weightDecay"}, scaled_decay};
constexpr ScalarSpec kMomentum2{
    "scaledMomentum2", {"momentum"}, [](const WeightValues& v) { return v("momentum"); }};

bool has_momentum(const WeightValues& v) { return !v.is_always("momentum", 0); }

constexpr StateSpec kVelocityAhead{.name = "Accl___",
                                   .initial = scaled_decay,
                                   .starts_as_weight = true,
                                   .is_kept = [](const WeightValues& v) {
                                     return has_momentum(v) && v.optimizer.sgd_state == SgdState::Combined;
                                   }};
constexpr StateSpec kVelocityApart{.name = "Accl1___", .is_kept = [](const WeightValues& v) {
                                     return has_momentum(v) && v.optimizer.sgd_state == SgdState::Separate;
                                   }};

// A product of which factors that are constant 1, and terms that are constant 0, are left out.
Term scaled(const WeightUpdate& update, Term value, const ScalarSpec& by) {
  return update.is_always(by, 1) ? value : value * update.scalar(by);
}

Term plus_scaled(const WeightUpdate& update, Term sum, Term value, const ScalarSpec& by) {
  return update.is_always(by, 0) ? sum : sum + scaled(update, value, by);
}

void without_momentum(WeightUpdate& update) {
  const Term kept = scaled(update, update.value(), kDecay0);
  update.set(kept - scaled(update, update.gradient, kRate0));
}

// Nesterov momentum and clipping need the gradient by itself.
bool accumulates_into_velocity(const WeightValues& v) {
  const Optimizer& optimizer = v.optimizer;
  const bool is_combined = optimizer.sgd_state == SgdState::Combined && has_momentum(v);
  return is_combined && !optimizer.nesterov && optimizer.clip_norms.empty();
}

// The velocity holds what the next update starts from, so that gradients only add to it.
void with_velocity_ahead(WeightUpdate& update) {
  Term velocity = update.state(kVelocityAhead);
  if (!accumulates(update.values())) velocity = velocity + scaled(update, update.gradient, kDampening1);
  const Term weight = update.value() - scaled(update, velocity, kRate1);
  const Term next = velocity * update.scalar(kMomentum1);
  update.set_state(kVelocityAhead, plus_scaled(update, next, weight, kDecay1));
  update.set(weight);
}

// As if both were apart, but with the velocity one update ahead.
void with_gradient_and_velocity_ahead(WeightUpdate& update) {
  const Term gradient = scaled(update, update.gradient, kDampening2);
  const Term velocity = update.state(kVelocityAhead) + gradient;
  Term step = velocity;
  if (update.builder.optimizer.nesterov) {
    step = plus_scaled(update, gradient, update.value(), kDecay2) + velocity * update.scalar(kMomentum2);
  }
  const Term weight = update.value() - scaled(update, step, kRate2);
  const Term next = velocity * update.scalar(kMomentum2);
  update.set_state(kVelocityAhead, plus_scaled(update, next, weight, kDecay2));
  update.set(weight);
}

void with_velocity_apart(WeightUpdate& update) {
  const Term gradient =
      plus_scaled(update, scaled(update, update.gradient, kDampening2), update.value(), kDecay2);
  const Term velocity = update.state(kVelocityApart) * update.scalar(kMomentum2) + gradient;
  Term step = velocity;
  if (update.builder.optimizer.nesterov) step = gradient + velocity * update.scalar(kMomentum2);
  update.set_state(kVelocityApart, velocity);
  update.set(update.value() - scaled(update, step, kRate2));
}

void update_by_sgd(WeightUpdate& update) {
  if (!has_momentum(update.values())) return without_momentum(update);
  if (update.builder.optimizer.sgd_state == SgdState::Separate) return with_velocity_apart(update);
  if (accumulates_into_velocity(update.values())) return with_velocity_ahead(update);
  with_gradient_and_velocity_ahead(update);
}

void accumulate_into_velocity(WeightUpdate& update) {
  const Term velocity = update.state(kVelocityAhead);
  const Term gradient = scaled(update, cast_to(update.type, update.gradient), kDampening1);
  update.set_state(kVelocityAhead, velocity + gradient, false);
  update.builder.training.reduced.push_back(update.builder.state(kVelocityAhead.name, update.weight));
}

void check_dampening(const WeightValues& v) {
  if (!v.optimizer.nesterov || v.is_always("dampening", 0)) return;
  const OptimizerValue dampening = v.find("dampening");
  throw Error("nesterov momentum: dampening is {}{}, it must be constant 0", dampening.value,
              dampening.constant ? "" : " and can change");
}

}  // namespace

std::span<const OptimizerSpec> sgd_optimizers() {
  static const std::vector<OptimizerSpec> kRows{
      {.name = "SGD",
       .typed = {{"sgd"}},
       .values = {kLearningRate, kWeightDecay, kMomentum, kDampening, kVelocityScaling},
       .forms = {"nesterov", "separate"},
       .states = {kVelocityAhead, kVelocityApart},
       .scalars = {&kRate0, &kDecay0, &kRate1, &kDampening1, &kDecay1, &kMomentum1, &kRate2, &kDampening2,
                   &kDecay2, &kMomentum2},
       .check = check_dampening,
       .accumulates_itself = accumulates_into_velocity,
       .accumulate = accumulate_into_velocity,
       .update = update_by_sgd},
  };
  return kRows;
}

}  // namespace podium::ir
