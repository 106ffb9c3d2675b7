// AdaGrad, RMSProp and AdaDelta (semantics, section 10.3).
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

constexpr std::string_view kSquares = "Accl1___";
constexpr std::string_view kSecond = "Accl2___";  // the mean of gradients, or of the squares of steps
constexpr std::string_view kMomentum = "Accl3___";

bool has_adaptive_momentum(const WeightUpdate& update) { return !update.is_constant("adaptiveMomentum", 0); }

Term running_mean(const WeightUpdate& update, Term before, Term now) {
  return before * update.scalar("adaptiveAlpha") + now * update.scalar("adaptiveOneMinusAlpha");
}

Term next_squares(const WeightUpdate& update, Term gradient) {
  const Optimizer& optimizer = update.builder.optimizer;
  const Term before = update.state(kSquares, optimizer.tensorflow_rms ? 1 : 0);
  const Term square = gradient * gradient;
  const Term squares =
      optimizer.kind == OptimizerKind::AdaGrad ? before + square : running_mean(update, before, square);
  update.set_state(kSquares, squares);
  return squares;
}

Term step_of_ada_delta(const WeightUpdate& update, Term gradient, Term squares) {
  const Term eps = update.scalar("adaptiveEps");
  const Term steps = update.state(kSecond);
  const Term step =
      update.quotient(gradient * (steps + eps).call("Sqrt"), (squares + eps).call("Sqrt"), "adaptiveEps");
  update.set_state(kSecond, running_mean(update, steps, step * step));
  return step;
}

Term step_of(const WeightUpdate& update, Term gradient) {
  const Optimizer& optimizer = update.builder.optimizer;
  Term squares = next_squares(update, gradient);
  if (optimizer.kind == OptimizerKind::AdaDelta) return step_of_ada_delta(update, gradient, squares);
  if (optimizer.kind == OptimizerKind::CenteredRmsProp) {
    const Term mean = running_mean(update, update.state(kSecond), gradient);
    update.set_state(kSecond, mean);
    squares = squares - mean * mean;
  }
  const Term eps = update.scalar("adaptiveEps");
  const Term divisor = optimizer.tensorflow_rms ? (squares + eps).call("Sqrt") : squares.call("Sqrt") + eps;
  return update.quotient(gradient, divisor, "adaptiveEps");
}

Term with_momentum(const WeightUpdate& update, Term step) {
  if (!has_adaptive_momentum(update)) return step;
  const Term sum = update.state(kMomentum) * update.scalar("adaptiveMomentum") + step;
  update.set_state(kMomentum, sum);
  return sum;
}

}  // namespace

void update_by_adaptive(WeightUpdate& update) {
  const Optimizer& optimizer = update.builder.optimizer;
  const bool decays = !update.is_constant("adaptiveWeightDecay", 0);
  const bool decays_weight = decays && optimizer.decay_mode == WeightDecayMode::Decay;
  Term gradient = update.gradient * update.scalar("adaptiveGradientScaling");
  if (decays && !decays_weight) gradient = gradient + update.value() * update.scalar("adaptiveWeightDecay");
  Term step = step_of(update, gradient);
  const Term rate = update.scalar("adaptiveLearningRate");
  // In TensorFlow the learning rate stands inside the momentum, and not before the decay.
  if (optimizer.tensorflow_rms) step = step * rate;
  step = with_momentum(update, step);
  if (decays_weight) step = step + update.value() * update.scalar("adaptiveWeightDecay");
  update.set(update.value() - (optimizer.tensorflow_rms ? step : step * rate));
}

}  // namespace podium::ir
