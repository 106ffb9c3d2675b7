// Adam and its relatives (semantics, section 10.3). With the gradient g, the mean of gradients and the mean
// of their squares (AdaMax: the largest size)
//   m = b1 m + (1 - b1) g,  v = b2 v + (1 - b2) g^2  (AdaMax: v = max(b2 v, |g|))
//   s = (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)  (AdaMax: no root and no correction of v)
//   w -= lr (s + d w)
// where the decay d w is a part of g instead with L2 regularization. LAMB multiplies the rate by
// min(|w|, maxWeightNorm) / |s|. The forms without bias leave out the corrections by 1 - b^t.
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

// What tells the relatives apart.
struct AdamForm {
  bool corrects_bias = true;
  bool keeps_largest = false;
  bool trusts_by_length = false;
};

constexpr ScalarSpec kAdamRate{
    "adamLearningRate", {"learningRate"}, [](const WeightValues& v) { return v("learningRate"); }};
constexpr ScalarSpec kAdamDecay{
    "adamWeightDecay", {"weightDecay"}, [](const WeightValues& v) { return v("weightDecay"); }};
constexpr ScalarSpec kAdamBeta1{"adamBeta1", {"beta1"}, [](const WeightValues& v) { return v("beta1"); }};
constexpr ScalarSpec kAdamBeta2{"adamBeta2", {"beta2"}, [](const WeightValues& v) { return v("beta2"); }};
constexpr ScalarSpec kOneMinusBeta1{
    "adamOneMinusBeta1", {"beta1"}, [](const WeightValues& v) { return 1 - v("beta1"); }};
constexpr ScalarSpec kOneMinusBeta2{
    "adamOneMinusBeta2", {"beta2"}, [](const WeightValues& v) { return 1 - v("beta2"); }};
constexpr ScalarSpec kAdamEps{"adamEps", {"eps"}, [](const WeightValues& v) { return v("eps"); }};
constexpr ScalarSpec kScaledEps{
    "adamScaledEps", {"eps", kLossScaling}, [](const WeightValues& v) { return v("eps") * v(kLossScaling); }};
constexpr ScalarSpec kScaledDecay{"adamScaledWeightDecay",
                                  {"weightDecay", kLossScaling},
                                  [](const WeightValues& v) { return v("weightDecay") * v(kLossScaling); }};
constexpr ScalarSpec kLongest{
    "adamMaxWeightNorm", {"maxWeightNorm"}, [](const WeightValues& v) { return v("maxWeightNorm"); }};
constexpr ScalarSpec kAdamGradient{"adamGradientScaling", {kLossScaling}, [](const WeightValues& v) {
                                     return 1 /
                                            ((v.optimizer.scaled_state ? 1 : v(kLossScaling)) * v.divisor());
                                   }};

constexpr StateSpec kMean{.name = "Accl1___"};
constexpr StateSpec kSpread{.name = "Accl2___"};
constexpr StateSpec kStep{.name = "Step___", .type = StateType::Float, .is_scalar = true};
// State that keeps the loss scale must follow it when it changes.
constexpr StateSpec kPreviousScale{
    .name = "PreviousLossScaling___",
    .type = StateType::Computed,
    .is_scalar = true,
    .initial = [](const WeightValues& v) { return v(kLossScaling); },
    .is_kept =
        [](const WeightValues& v) { return v.optimizer.scaled_state && !v.optimizer.loss_scaling.constant; }};

// What is multiplied by the loss scale where states keep it: automatic scaling changes it by a factor.
Term times_scale_factor(const WeightUpdate& update, Term value) {
  const std::optional<Term>& inverse = update.builder.inverse_scale;
  return inverse ? value / cast_to(update.type, *inverse) : value;
}

// How much larger the loss scale is than at the update before.
std::optional<Term> growth_of_scale(const WeightUpdate& update) {
  if (!kPreviousScale.is_kept(update.values())) return {};
  const Term previous = update.state(kPreviousScale);
  const Term now = times_scale_factor(update, update.scalar(kLossScale));
  update.set_state(kPreviousScale, now);
  return now / previous;
}

// 1 / (1 - beta^t), in double: near the start it divides by the difference of almost equal numbers. One
// number is divided in place of each element.
Term bias_correction(const WeightUpdate& update, Term step, const ScalarSpec& one_minus_beta) {
  const Term beta = 1.0 - cast_to(DataType::Double, update.scalar(one_minus_beta));
  const Term remaining = beta.with("Pow", cast_to(DataType::Double, step));
  return cast_to(update.type, 1.0 / (1.0 - remaining));
}

Term next_step(const WeightUpdate& update) {
  const Term step = update.stored(kStep) + 1.0;
  update.set_state(kStep, step);
  return step;
}

Term next_spread(const WeightUpdate& update, AdamForm form, Term gradient, std::optional<Term> growth) {
  Term before = update.state(kSpread);
  if (growth) before = form.keeps_largest ? before * *growth : before * (*growth * *growth);
  before = before * update.scalar(kAdamBeta2);
  if (form.keeps_largest) return before.with("Max", gradient.call("Abs"));
  return before + gradient * gradient * update.scalar(kOneMinusBeta2);
}

Term length(Term value) {
  return value.call("ReduceSumSquare", {{"keepdims", std::int64_t{0}}}).call("Sqrt");
}

// How much longer than its step the weight is, up to maxWeightNorm.
std::optional<Term> trust_ratio(const WeightUpdate& update, Term step) {
  if (update.is_always(kLongest, 0)) return {};
  const Term weight_length = length(update.value());
  const Term step_length = length(step);
  const Term limit = update.scalar(kLongest);
  const Term ratio = weight_length.with("Min", limit) / step_length;
  const Term has_meaning = weight_length.with("Min", step_length).with("Min", limit) > 0.0;
  return choose(has_meaning, ratio, 1);
}

void update_by_adam(WeightUpdate& update, AdamForm form) {
  const Optimizer& optimizer = update.builder.optimizer;
  const bool decays = !update.is_always(kAdamDecay, 0);
  Term gradient = update.gradient * update.scalar(kAdamGradient);
  if (decays && optimizer.decay_mode == WeightDecayMode::L2Regularization) {
    const ScalarSpec& decay = optimizer.scaled_state ? kScaledDecay : kAdamDecay;
    gradient = gradient + update.value() * times_scale_factor(update, update.scalar(decay));
  }
  const std::optional<Term> growth = growth_of_scale(update);
  Term mean = update.state(kMean);
  if (growth) mean = mean * *growth;
  mean = mean * update.scalar(kAdamBeta1) + gradient * update.scalar(kOneMinusBeta1);
  Term spread = next_spread(update, form, gradient, growth);
  update.set_state(kMean, mean);
  update.set_state(kSpread, spread);
  if (form.corrects_bias) {
    const Term step = next_step(update);
    mean = mean * bias_correction(update, step, kOneMinusBeta1);
    if (!form.keeps_largest) spread = spread * bias_correction(update, step, kOneMinusBeta2);
  }
  if (!form.keeps_largest) spread = spread.call("Sqrt");
  const ScalarSpec& eps = optimizer.scaled_state ? kScaledEps : kAdamEps;
  Term step = update.quotient(mean, spread + times_scale_factor(update, update.scalar(eps)), eps);
  if (decays && optimizer.decay_mode == WeightDecayMode::Decay) {
    step = step + update.value() * update.scalar(kAdamDecay);
  }
  Term rate = update.scalar(kAdamRate);
  if (form.trusts_by_length) {
    if (const std::optional<Term> ratio = trust_ratio(update, step)) rate = rate * *ratio;
  }
  update.set(update.value() - rate * step);
}

template <AdamForm form>
OptimizerSpec adam_row(std::string_view name) {
  OptimizerSpec row{.name = name,
                    .values = {kLearningRate, kWeightDecay, kBeta1, kBeta2, kEps},
                    .forms = {"scaled-state", "decay", "l2"},
                    .states = {kMean, kSpread, kPreviousScale},
                    .scalars = {&kAdamRate, &kAdamDecay, &kAdamBeta1, &kAdamBeta2, &kOneMinusBeta1,
                                &kOneMinusBeta2, &kAdamEps, &kScaledEps, &kScaledDecay, &kAdamGradient},
                    .has_wide_states = true,
                    .update = [](WeightUpdate& update) { update_by_adam(update, form); }};
  if (form.corrects_bias) row.states.push_back(kStep);
  if (form.trusts_by_length) {
    row.values.push_back(kMaxWeightNorm);
    row.scalars.push_back(&kLongest);
  }
  return row;
}

}  // namespace

std::span<const OptimizerSpec> adam_optimizers() {
  static const std::vector<OptimizerSpec> kRows = [] {
    OptimizerSpec adam = adam_row<AdamForm{}>("Adam");
    adam.typed = {{"adam"}, {"adamw", WeightDecayMode::Decay}};
    adam.variants = {{"no-bias", "AdamNoBias"}};
    OptimizerSpec ada_max = adam_row<AdamForm{.keeps_largest = true}>("AdaMax");
    ada_max.typed = {{"adamax"}};
    OptimizerSpec lamb = adam_row<AdamForm{.trusts_by_length = true}>("LAMB");
    lamb.typed = {{"lamb", WeightDecayMode::Decay}};
    lamb.variants = {{"no-bias", "LambNoBias"}};
    return std::vector{adam, ada_max, lamb, adam_row<AdamForm{.corrects_bias = false}>("AdamNoBias"),
                       adam_row<AdamForm{.corrects_bias = false, .trusts_by_length = true}>("LambNoBias")};
  }();
  return kRows;
}

}  // namespace podium::ir
