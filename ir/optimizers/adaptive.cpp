// AdaGrad, RMSProp and AdaDelta (semantics, section 10.3): the gradient g is divided by the root of what is
// known of its squares.
//   AdaGrad  r = r + g^2,  RMSProp and AdaDelta  r = a r + (1 - a) g^2
//   s = g / (sqrt(r) + eps); CenteredRMSProp: r less the square of the mean of gradients;
//   AdaDelta  s = g sqrt(u + eps) / sqrt(r + eps),  u = a u + (1 - a) s^2
//   with momentum  v = m v + s  in the place of s;  w -= lr (s + d w)
// where the decay d w is a part of g instead with L2 regularization. As in TensorFlow RMSProp has eps inside
// the root and the learning rate inside the momentum.
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

enum class AdaptiveForm : std::uint8_t { AdaGrad, RmsProp, CenteredRmsProp, AdaDelta };

constexpr ScalarSpec kAdaptiveRate{
    "adaptiveLearningRate", {"learningRate"}, [](const WeightValues& v) { return v("learningRate"); }};
constexpr ScalarSpec kAdaptiveDecay{
    "adaptiveWeightDecay", {"weightDecay"}, [](const WeightValues& v) { return v("weightDecay"); }};
constexpr ScalarSpec kAdaptiveAlpha{
    "adaptiveAlpha", {"alpha"}, [](const WeightValues& v) { return v("alpha"); }};
constexpr ScalarSpec kOneMinusAlpha{
    "adaptiveOneMinusAlpha", {"alpha"}, [](const WeightValues& v) { return 1 - v("alpha"); }};
constexpr ScalarSpec kAdaptiveMomentum{
    "adaptiveMomentum", {"momentum"}, [](const WeightValues& v) { return v("momentum"); }};
constexpr ScalarSpec kAdaptiveEps{"adaptiveEps", {"eps"}, [](const WeightValues& v) { return v("eps"); }};
constexpr ScalarSpec kAdaptiveGradient{"adaptiveGradientScaling", {kLossScaling}, [](const WeightValues& v) {
                                         return 1 / (v(kLossScaling) * v.divisor());
                                       }};

bool has_adaptive_momentum(const WeightValues& v) { return !v.is_always("momentum", 0); }

constexpr StateSpec kSquares{.name = "Accl1___", .initial = [](const WeightValues& v) {
                               return v.optimizer.tensorflow_rms ? 1.0 : 0.0;
                             }};
constexpr StateSpec kSecond{.name = "Accl2___"};  // the mean of gradients, or of the squares of steps
constexpr StateSpec kSteps{.name = "Accl3___", .is_kept = has_adaptive_momentum};

Term running_mean(const WeightUpdate& update, Term before, Term now) {
  return before * update.scalar(kAdaptiveAlpha) + now * update.scalar(kOneMinusAlpha);
}

Term next_squares(const WeightUpdate& update, AdaptiveForm form, Term gradient) {
  const Term before = update.state(kSquares);
  const Term square = gradient * gradient;
  const Term squares = form == AdaptiveForm::AdaGrad ? before + square : running_mean(update, before, square);
  update.set_state(kSquares, squares);
  return squares;
}

Term step_of_ada_delta(const WeightUpdate& update, Term gradient, Term squares) {
  const Term eps = update.scalar(kAdaptiveEps);
  const Term steps = update.state(kSecond);
  const Term step =
      update.quotient(gradient * (steps + eps).call("Sqrt"), (squares + eps).call("Sqrt"), kAdaptiveEps);
  update.set_state(kSecond, running_mean(update, steps, step * step));
  return step;
}

Term adaptive_step(const WeightUpdate& update, AdaptiveForm form, Term gradient) {
  Term squares = next_squares(update, form, gradient);
  if (form == AdaptiveForm::AdaDelta) return step_of_ada_delta(update, gradient, squares);
  if (form == AdaptiveForm::CenteredRmsProp) {
    const Term mean = running_mean(update, update.state(kSecond), gradient);
    update.set_state(kSecond, mean);
    squares = squares - mean * mean;
  }
  const Term eps = update.scalar(kAdaptiveEps);
  const bool is_inside = update.builder.optimizer.tensorflow_rms;
  const Term divisor = is_inside ? (squares + eps).call("Sqrt") : squares.call("Sqrt") + eps;
  return update.quotient(gradient, divisor, kAdaptiveEps);
}

Term with_momentum(const WeightUpdate& update, Term step) {
  if (!has_adaptive_momentum(update.values())) return step;
  const Term sum = update.state(kSteps) * update.scalar(kAdaptiveMomentum) + step;
  update.set_state(kSteps, sum);
  return sum;
}

template <AdaptiveForm form>
void update_by_adaptive(WeightUpdate& update) {
  const Optimizer& optimizer = update.builder.optimizer;
  const bool decays = !update.is_always(kAdaptiveDecay, 0);
  const bool decays_weight = decays && optimizer.decay_mode == WeightDecayMode::Decay;
  Term gradient = update.gradient * update.scalar(kAdaptiveGradient);
  if (decays && !decays_weight) gradient = gradient + update.value() * update.scalar(kAdaptiveDecay);
  Term step = adaptive_step(update, form, gradient);
  const Term rate = update.scalar(kAdaptiveRate);
  // In TensorFlow the learning rate stands inside the momentum, and not before the decay.
  if (optimizer.tensorflow_rms) step = step * rate;
  step = with_momentum(update, step);
  if (decays_weight) step = step + update.value() * update.scalar(kAdaptiveDecay);
  update.set(update.value() - (optimizer.tensorflow_rms ? step : step * rate));
}

template <AdaptiveForm form>
OptimizerSpec adaptive_row(std::string_view name) {
  OptimizerSpec row{.name = name,
                    .values = {kLearningRate, kWeightDecay, kAlpha, kMomentum, kEps},
                    .forms = {"decay", "l2"},
                    .states = {kSquares, kSteps},
                    .scalars = {&kAdaptiveRate, &kAdaptiveDecay, &kAdaptiveAlpha, &kOneMinusAlpha,
                                &kAdaptiveMomentum, &kAdaptiveEps, &kAdaptiveGradient},
                    .has_wide_states = true,
                    .update = update_by_adaptive<form>};
  constexpr bool is_centered = form == AdaptiveForm::CenteredRmsProp;
  if (form == AdaptiveForm::RmsProp || is_centered) row.forms.push_back("tensorflow");
  if (form == AdaptiveForm::AdaDelta || is_centered) row.states.push_back(kSecond);
  return row;
}

}  // namespace

std::span<const OptimizerSpec> adaptive_optimizers() {
  static const std::vector<OptimizerSpec> kRows = [] {
    OptimizerSpec ada_grad = adaptive_row<AdaptiveForm::AdaGrad>("AdaGrad");
    ada_grad.typed = {{"adagrad"}};
    OptimizerSpec rms_prop = adaptive_row<AdaptiveForm::RmsProp>("RMSProp");
    rms_prop.typed = {{"rmsprop"}};
    rms_prop.variants = {{"centered", "CenteredRMSProp"}};
    OptimizerSpec ada_delta = adaptive_row<AdaptiveForm::AdaDelta>("AdaDelta");
    ada_delta.typed = {{"adadelta"}};
    return std::vector{ada_grad, rms_prop, adaptive_row<AdaptiveForm::CenteredRmsProp>("CenteredRMSProp"),
                       ada_delta};
  }();
  return kRows;
}

}  // namespace podium::ir
