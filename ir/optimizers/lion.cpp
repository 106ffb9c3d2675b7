// Lion (Chen et al., Symbolic Discovery of Optimization Algorithms, 2023). With the gradient g and a mean m
// of gradients
//   c = b1 m + (1 - b1) g,  w -= lr (sign(c) + d w),  m = b2 m + (1 - b2) g
// where the decay d w is a part of g instead with L2 regularization.
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

constexpr ScalarSpec kLionRate{
    "lionLearningRate", {"learningRate"}, [](const WeightValues& v) { return v("learningRate"); }};
constexpr ScalarSpec kLionDecay{
    "lionWeightDecay", {"weightDecay"}, [](const WeightValues& v) { return v("weightDecay"); }};
constexpr ScalarSpec kLionBeta1{"lionBeta1", {"beta1"}, [](const WeightValues& v) { return v("beta1"); }};
constexpr ScalarSpec kLionBeta2{"lionBeta2", {"beta2"}, [](const WeightValues& v) { return v("beta2"); }};
constexpr ScalarSpec kLionOneMinusBeta1{
    "lionOneMinusBeta1", {"beta1"}, [](const WeightValues& v) { return 1 - v("beta1"); }};
constexpr ScalarSpec kLionOneMinusBeta2{
    "lionOneMinusBeta2", {"beta2"}, [](const WeightValues& v) { return 1 - v("beta2"); }};
constexpr ScalarSpec kLionGradient{"lionGradientScaling", {kLossScaling}, kGradientScale.value};

constexpr StateSpec kLionMean{.name = "Accl1___"};

void update_by_lion(WeightUpdate& update) {
  const bool decays = !update.is_always(kLionDecay, 0);
  const bool decays_weight = decays && update.builder.optimizer.decay_mode == WeightDecayMode::Decay;
  Term gradient = update.gradient * update.scalar(kLionGradient);
  if (decays && !decays_weight) gradient = gradient + update.value() * update.scalar(kLionDecay);
  const Term mean = update.state(kLionMean);
  const Term blend = mean * update.scalar(kLionBeta1) + gradient * update.scalar(kLionOneMinusBeta1);
  update.set_state(kLionMean,
                   mean * update.scalar(kLionBeta2) + gradient * update.scalar(kLionOneMinusBeta2));
  Term step = blend.call("Sign");
  if (decays_weight) step = step + update.value() * update.scalar(kLionDecay);
  update.set(update.value() - step * update.scalar(kLionRate));
}

}  // namespace

std::span<const OptimizerSpec> lion_optimizers() {
  static const std::vector<OptimizerSpec> kRows{
      {.name = "Lion",
       .typed = {{"lion", WeightDecayMode::Decay}},
       .values = {with_fallback(kLearningRate, 1e-4), kWeightDecay, kBeta1, with_fallback(kBeta2, 0.99)},
       .forms = {"decay", "l2"},
       .states = {kLionMean},
       .scalars = {&kLionRate, &kLionDecay, &kLionBeta1, &kLionBeta2, &kLionOneMinusBeta1,
                   &kLionOneMinusBeta2, &kLionGradient},
       .has_wide_states = true,
       .update = update_by_lion},
  };
  return kRows;
}

}  // namespace podium::ir
