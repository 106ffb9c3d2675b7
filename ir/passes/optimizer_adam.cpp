// Adam and its relatives (semantics, section 10.3).
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

constexpr std::string_view kMean = "Accl1___";
constexpr std::string_view kSpread = "Accl2___";

bool is_lamb(OptimizerKind kind) { return kind == OptimizerKind::Lamb || kind == OptimizerKind::LambNoBias; }
bool has_bias(OptimizerKind kind) {
  return kind != OptimizerKind::AdamNoBias && kind != OptimizerKind::LambNoBias;
}

// What is multiplied by the loss scale where states keep it: automatic scaling changes it by a factor.
Term times_scale_factor(const WeightUpdate& update, Term value) {
  const std::optional<Term>& inverse = update.builder.inverse_scale;
  return inverse ? value / cast_to(update.type, *inverse) : value;
}

// State that keeps the loss scale follows it: how much larger it is than at the update before.
std::optional<Term> growth_of_scale(const WeightUpdate& update) {
  UpdateBuilder& builder = update.builder;
  const OptimizerValue& scaling = builder.optimizer.loss_scaling;
  if (!builder.optimizer.scaled_state || scaling.constant) return {};
  const Term previous = builder.variable({.kind = VariableKind::OptimizerState,
                                          .initial = filled(update.type, {}, scaling.value),
                                          .weight = update.weight,
                                          .state = "PreviousLossScaling___"});
  const Term now = times_scale_factor(update, update.scalar("lossScaling"));
  builder.update(previous, now, true);
  return now / previous;
}

// 1 - beta^t, in double: near the start it is the difference of almost equal numbers.
Term bias_correction(const WeightUpdate& update, Term step, std::string_view one_minus_beta) {
  const Term beta = 1.0 - cast_to(DataType::Double, update.scalar(one_minus_beta));
  const Term remaining = beta.with("Pow", cast_to(DataType::Double, step));
  return cast_to(update.type, 1.0 - remaining);
}

Term next_step(const WeightUpdate& update) {
  const Term before = update.builder.variable({.kind = VariableKind::OptimizerState,
                                               .initial = filled(DataType::Float, {}, 0),
                                               .weight = update.weight,
                                               .state = "Step___"});
  const Term step = before + 1.0;
  update.builder.update(before, step, true);
  return step;
}

Term next_spread(const WeightUpdate& update, Term gradient, std::optional<Term> growth) {
  const bool is_largest = update.builder.optimizer.kind == OptimizerKind::AdaMax;
  Term before = update.state(kSpread);
  if (growth) before = is_largest ? before * *growth : before * (*growth * *growth);
  before = before * update.scalar("adamBeta2");
  if (is_largest) return before.with("Max", gradient.call("Abs"));
  return before + gradient * gradient * update.scalar("adamOneMinusBeta2");
}

Term length(Term value) {
  return value.call("ReduceSumSquare", {{"keepdims", std::int64_t{0}}}).call("Sqrt");
}

// How much longer than its step the weight is, up to maxWeightNorm.
std::optional<Term> trust_ratio(const WeightUpdate& update, Term step) {
  if (update.is_constant("adamMaxWeightNorm", 0)) return {};
  const Term weight_length = length(update.value());
  const Term step_length = length(step);
  const Term limit = update.scalar("adamMaxWeightNorm");
  const Term ratio = weight_length.with("Min", limit) / step_length;
  const Term has_meaning = weight_length.with("Min", step_length).with("Min", limit) > 0.0;
  return choose(has_meaning, ratio, 1);
}

}  // namespace

void update_by_adam(WeightUpdate& update) {
  const Optimizer& optimizer = update.builder.optimizer;
  const bool decays = !update.is_constant("adamWeightDecay", 0);
  Term gradient = update.gradient * update.scalar("adamGradientScaling");
  if (decays && optimizer.decay_mode == WeightDecayMode::L2Regularization) {
    const std::string_view decay = optimizer.scaled_state ? "adamScaledWeightDecay" : "adamWeightDecay";
    gradient = gradient + update.value() * times_scale_factor(update, update.scalar(decay));
  }
  const std::optional<Term> growth = growth_of_scale(update);
  Term mean = update.state(kMean);
  if (growth) mean = mean * *growth;
  mean = mean * update.scalar("adamBeta1") + gradient * update.scalar("adamOneMinusBeta1");
  Term spread = next_spread(update, gradient, growth);
  update.set_state(kMean, mean);
  update.set_state(kSpread, spread);
  if (has_bias(optimizer.kind)) {
    const Term step = next_step(update);
    mean = mean / bias_correction(update, step, "adamOneMinusBeta1");
    if (optimizer.kind != OptimizerKind::AdaMax)
      spread = spread / bias_correction(update, step, "adamOneMinusBeta2");
  }
  if (optimizer.kind != OptimizerKind::AdaMax) spread = spread.call("Sqrt");
  const std::string_view eps = optimizer.scaled_state ? "adamScaledEps" : "adamEps";
  Term step = update.quotient(mean, spread + times_scale_factor(update, update.scalar(eps)), eps);
  if (decays && optimizer.decay_mode == WeightDecayMode::Decay) {
    step = step + update.value() * update.scalar("adamWeightDecay");
  }
  Term rate = update.scalar("adamLearningRate");
  if (is_lamb(optimizer.kind)) {
    if (const std::optional<Term> ratio = trust_ratio(update, step)) rate = rate * *ratio;
  }
  update.set(update.value() - rate * step);
}

}  // namespace podium::ir
