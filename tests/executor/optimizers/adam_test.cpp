// Adam's family and the adaptive optimizers against their equations.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/executor/equations.h"

namespace podium {
namespace {

using ir::Contributions;
using ir::Optimizer;
using testing::all_contributions;
using testing::each;
using testing::Equations;
using testing::expect_equations;
using testing::falling;
using testing::length;
using testing::Numbers;

// The values that change from step to step in the tests of Adam's family.
struct AdamValues {
  double rate = 0;
  double beta1 = 0.7;
  double beta2 = 0.8;
  double eps = 1e-6;
  double decay = 0.1;
  double largest_norm = 0;  // of LAMB

  void apply(Optimizer& optimizer, int step) {
    rate = falling(0.005, step);
    beta1 = step < 8 ? 0.7 : 0.9;
    beta2 = step < 8 ? 0.8 : 0.99;
    optimizer.defaults["learningRate"] = {rate, false};
    optimizer.defaults["beta1"] = {beta1, false};
    optimizer.defaults["beta2"] = {beta2, false};
    optimizer.defaults["eps"] = {eps};
    optimizer.defaults["weightDecay"] = {decay};
    optimizer.loss_scaling = {10.0 * (1 + step / 5), false};
    if (optimizer.defaults.contains("maxWeightNorm")) optimizer.defaults["maxWeightNorm"] = {largest_norm};
  }
};

// The equations of Adam's family for all elements of a weight.
Equations adam_equations(const AdamValues& now, std::string_view kind, ir::WeightDecayMode mode) {
  auto mean = std::make_shared<Numbers>(3, 0.0);
  auto spread = std::make_shared<Numbers>(3, 0.0);
  return [=, &now](const Numbers& weight, const Numbers& gradients, int t) {
    const bool is_lamb = kind == "LAMB" || kind == "LambNoBias";
    const bool has_bias = kind != "AdamNoBias" && kind != "LambNoBias";
    Numbers step;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      double g = gradients[i];
      if (mode == ir::WeightDecayMode::L2Regularization) g += now.decay * weight[i];
      double& m = (*mean)[i];
      double& v = (*spread)[i];
      m = now.beta1 * m + (1 - now.beta1) * g;
      v = kind == "AdaMax" ? std::max(now.beta2 * v, std::fabs(g)) : now.beta2 * v + (1 - now.beta2) * g * g;
      const double mc = has_bias ? m / (1 - std::pow(now.beta1, t)) : m;
      const double vc = has_bias && kind != "AdaMax" ? v / (1 - std::pow(now.beta2, t)) : v;
      double x = mc / ((kind == "AdaMax" ? vc : std::sqrt(vc)) + now.eps);
      if (mode == ir::WeightDecayMode::Decay) x += now.decay * weight[i];
      step.push_back(x);
    }
    double ratio = 1;
    if (is_lamb && now.largest_norm != 0) ratio = std::min(length(weight), now.largest_norm) / length(step);
    Numbers result;
    for (std::size_t i = 0; i < weight.size(); ++i) result.push_back(weight[i] - now.rate * ratio * step[i]);
    return result;
  };
}

TEST(Adam, AndItsRelatives) {
  for (const std::string_view kind : {"Adam", "AdaMax", "LAMB", "AdamNoBias", "LambNoBias"}) {
    for (const auto mode : {ir::WeightDecayMode::Decay, ir::WeightDecayMode::L2Regularization}) {
      for (const bool scaled : {false, true}) {
        SCOPED_TRACE(fmt::format("{} mode {} scaled {}", kind, static_cast<int>(mode), scaled));
        for (const Contributions& contributions : all_contributions()) {
          Optimizer optimizer = ir::make_optimizer(kind);
          optimizer.decay_mode = mode;
          optimizer.scaled_state = scaled;
          AdamValues now{.largest_norm = 1.2};
          expect_equations(
              optimizer, contributions, [&](Optimizer& o, int step) { now.apply(o, step); },
              adam_equations(now, kind, mode));
        }
      }
    }
  }
}

TEST(Adam, WithTheUsualBetas) {
  AdamValues now{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .decay = 0};
  expect_equations(
      ir::make_optimizer("Adam", {{"learningRate", {0.01}}}), {}, [](Optimizer&, int) {},
      adam_equations(now, "Adam", ir::WeightDecayMode::Decay));
}

TEST(Lamb, WithoutALimitOfNormsStepsAsAdam) {
  AdamValues now{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .decay = 0, .largest_norm = 0};
  expect_equations(
      ir::make_optimizer("LAMB", {{"learningRate", {0.01}}, {"maxWeightNorm", {0}}}), {},
      [](Optimizer&, int) {}, adam_equations(now, "Adam", ir::WeightDecayMode::Decay));
}

// 0 / (0 + eps): an element that no gradient reaches, and an eps that is 0 or too small for a float.
TEST(AdamAndAdaptive, WithoutAnEpsLeaveWhatHasNoGradient) {
  for (const std::string_view kind :
       {"Adam", "AdaMax", "LAMB", "AdamNoBias", "AdaGrad", "RMSProp", "CenteredRMSProp"}) {
    for (const double eps : {0.0, 1e-60}) {
      for (const bool constant : {false, true}) {
        SCOPED_TRACE(fmt::format("{} eps {} constant {}", kind, eps, constant));
        const Optimizer optimizer =
            ir::make_optimizer(kind, {{"learningRate", {0.01}}, {"eps", {eps, constant}}});
        testing::GraphTrainer trainer(testing::training_of(testing::kProduct, optimizer));
        const auto hyper = ir::hyper_parameter_tensors(trainer.training(), optimizer, {});
        for (int step = 0; step < 3; ++step) {
          trainer.step({{{"x", testing::float_tensor({0, 0.5 + step, -2})}}}, hyper);
        }
        const auto w = trainer.variable("w").values<float>();
        EXPECT_EQ(w[0], static_cast<float>(testing::kFirstWeight[0]));
        EXPECT_LT(w[1], testing::kFirstWeight[1]);
        EXPECT_GT(w[2], testing::kFirstWeight[2]);
      }
    }
  }
}

struct AdaptiveForm {
  std::string_view kind;
  bool tensorflow;
  double momentum;
  ir::WeightDecayMode mode;
};

Equations adaptive_equations(const AdaptiveForm& form, const double& rate) {
  struct State {
    double squares, second, momentum;
  };
  auto states = std::make_shared<std::vector<State>>(3, State{form.tensorflow ? 1.0 : 0.0, 0, 0});
  constexpr double kAlpha = 0.7;
  constexpr double kEps = 1e-3;
  constexpr double kDecay = 0.05;
  return each([=, &rate](double w, double g, int, std::size_t i) {
    State& s = (*states)[i];
    const bool l2 = form.mode == ir::WeightDecayMode::L2Regularization;
    if (l2) g += kDecay * w;
    s.squares = form.kind == "AdaGrad" ? s.squares + g * g : kAlpha * s.squares + (1 - kAlpha) * g * g;
    double x = 0;
    if (form.kind == "AdaDelta") {
      x = g * std::sqrt(s.second + kEps) / std::sqrt(s.squares + kEps);
      s.second = kAlpha * s.second + (1 - kAlpha) * x * x;
    } else {
      double spread = s.squares;
      if (form.kind == "CenteredRMSProp") {
        s.second = kAlpha * s.second + (1 - kAlpha) * g;
        spread -= s.second * s.second;
      }
      x = g / (form.tensorflow ? std::sqrt(spread + kEps) : std::sqrt(spread) + kEps);
    }
    if (form.tensorflow) {
      s.momentum = form.momentum * s.momentum + rate * x;
      return w - ((l2 ? 0 : kDecay * w) + s.momentum);
    }
    s.momentum = form.momentum * s.momentum + x;
    return w - rate * ((l2 ? 0 : kDecay * w) + s.momentum);
  });
}

TEST(Adaptive, InEveryForm) {
  const auto is_rms = [](std::string_view kind) { return kind == "RMSProp" || kind == "CenteredRMSProp"; };
  for (const std::string_view kind : {"AdaGrad", "RMSProp", "CenteredRMSProp", "AdaDelta"}) {
    for (const bool tensorflow : {false, true}) {
      if (tensorflow && !is_rms(kind)) continue;
      for (const double momentum : {0.0, 0.8}) {
        for (const auto mode : {ir::WeightDecayMode::Decay, ir::WeightDecayMode::L2Regularization}) {
          SCOPED_TRACE(fmt::format("{} tensorflow {} momentum {} mode {}", kind, tensorflow, momentum,
                                   static_cast<int>(mode)));
          Optimizer optimizer = ir::make_optimizer(
              kind, {{"alpha", {0.7}}, {"eps", {1e-3}}, {"weightDecay", {0.05}}, {"momentum", {momentum}}});
          optimizer.decay_mode = mode;
          optimizer.tensorflow_rms = tensorflow;
          optimizer.loss_scaling = {4};
          for (const Contributions& contributions : all_contributions()) {
            double rate = 0;
            expect_equations(
                optimizer, contributions,
                [&](Optimizer& o, int step) {
                  rate = falling(0.02, step);
                  o.defaults["learningRate"] = {rate, false};
                },
                adaptive_equations({kind, tensorflow, momentum, mode}, rate));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace podium
