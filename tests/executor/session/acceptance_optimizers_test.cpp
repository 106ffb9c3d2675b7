// Optimizers with the numbers of PopART's own comparisons (semantics, section 15, rows 11 to 14): three
// learning rates, each for five batches of one session. The equations are those of semantics,
// section 10.3, in double.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/executor/session/acceptance.h"
#include "tests/executor/session/reference_network.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ir::Optimizer;
using ir::WeightDecayMode;

// Updates tensor number `which` of the reference.
using Update = std::function<void(Numbers& weight, const Numbers& gradient, double rate, std::size_t which)>;
// One element of it; `state` is the element's own, zeros at first.
using Element = std::function<double(double w, double g, double rate, std::array<double, 4>& state)>;

Update each(const Element& element) {
  auto states = std::make_shared<std::array<std::vector<std::array<double, 4>>, 4>>();
  return [=](Numbers& weight, const Numbers& gradient, double rate, std::size_t which) {
    auto& state = (*states)[which];
    state.resize(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i)
      weight[i] = element(weight[i], gradient[i], rate, state[i]);
  };
}

struct Schedule {
  std::vector<double> rates;
  int batches = 5;           ///< a step
  double most_error = 1e-5;  ///< of the weights, relative
};

void expect_as_reference(Optimizer optimizer, const Schedule& schedule, const Update& update) {
  constexpr int kSamples = 4;
  const bool changes = !optimizer.defaults.at("learningRate").constant;
  TrainingOptions options = training_with({.batches_per_step = schedule.batches}, 1);
  optimizer.defaults.at("learningRate").value = schedule.rates[0];
  options.optimizer = optimizer;
  TrainingSession session(reference_model(kSamples), options);
  ReferenceNetwork reference;
  for (std::size_t step = 0; step < schedule.rates.size(); ++step) {
    const double rate = schedule.rates[changes ? step : 0];
    optimizer.defaults.at("learningRate").value = rate;
    session.update_optimizer(optimizer);
    const std::vector<float> x = reference_samples(kSamples * schedule.batches, static_cast<int>(step));
    const std::vector<ir::Datum> inputs{input_of(x)};
    session.run(inputs);
    constexpr int kBatch = kSamples * ReferenceNetwork::kIn;
    for (int batch = 0; batch < schedule.batches; ++batch) {
      const auto gradients =
          reference.gradients({x.begin() + batch * kBatch, x.begin() + (batch + 1) * kBatch});
      for (std::size_t i = 0; i < gradients.size(); ++i) update(reference.weights[i], gradients[i], rate, i);
    }
  }
  EXPECT_LT(relative_error(session.weights(), reference), schedule.most_error);
  EXPECT_GT(relative_error(session.weights(), ReferenceNetwork()), 1e-4) << "nothing was learnt";
}

// Row 11.
constexpr double kMomentum = 0.1;
constexpr double kSgdDecay = 0.01;
constexpr double kVelocityScaling = 0.5;

Optimizer sgd(double momentum, double dampening) {
  Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.5, false}},
                                                   {"momentum", {momentum}},
                                                   {"dampening", {dampening}},
                                                   {"weightDecay", {kSgdDecay}},
                                                   {"velocityScaling", {kVelocityScaling}}});
  optimizer.loss_scaling = {10};
  return optimizer;
}

const Schedule kSgdRates{{0.5, 0.3, 0.1}};

TEST(AcceptanceSgd0, FollowsItsEquation) {
  for (const double dampening : {0.0, 0.3}) {
    expect_as_reference(sgd(0, dampening), kSgdRates,
                        each([=](double w, double g, double rate, std::array<double, 4>&) {
                          const double step = rate * (1 - dampening);
                          return w * (1 - step * kSgdDecay) - step / 10 * (10 * g);
                        }));
  }
}

// The velocity holds decay and momentum before the gradient comes: first a and b of the next update, then c.
TEST(AcceptanceSgd1, FollowsItsEquation) {
  for (const bool nesterov : {false, true}) {
    const double dampening = nesterov ? 0 : 0.3;
    const double decay = (1 - dampening) * kSgdDecay * kVelocityScaling;
    Optimizer optimizer = sgd(kMomentum, dampening);
    optimizer.nesterov = nesterov;
    expect_as_reference(optimizer, kSgdRates,
                        each([=](double w, double g, double rate, std::array<double, 4>& state) {
                          auto& [v, is_started, unused, unused_too] = state;
                          if (is_started == 0) v = decay * w;
                          is_started = 1;
                          const double scaled = (1 - dampening) * kVelocityScaling / 10 * (10 * g);
                          v += scaled;
                          const double step = nesterov ? scaled + decay * w + kMomentum * v : v;
                          w -= rate / kVelocityScaling * step;
                          v = kMomentum * v + decay * w;
                          return w;
                        }));
  }
}

TEST(AcceptanceSgd2, FollowsItsEquation) {
  for (const bool nesterov : {false, true}) {
    const double dampening = nesterov ? 0 : 0.3;
    Optimizer optimizer = sgd(kMomentum, dampening);
    optimizer.nesterov = nesterov;
    optimizer.sgd_state = ir::SgdState::Separate;
    expect_as_reference(
        optimizer, kSgdRates, each([=](double w, double g, double rate, std::array<double, 4>& state) {
          double& v = state[0];
          const double scaled = (1 - dampening) * kVelocityScaling * (kSgdDecay * w + (10 * g) / 10);
          v = kMomentum * v + scaled;
          const double step = nesterov ? scaled + kMomentum * v : v;
          return w - rate / kVelocityScaling * step;
        }));
  }
}

// Row 12.
struct AdamForm {
  const char* name;
  std::string_view kind;
  WeightDecayMode mode;
};

double length(const Numbers& numbers) {
  double sum = 0;
  for (double number : numbers) sum += number * number;
  return std::sqrt(sum);
}

Update adam(const AdamForm& form) {
  struct State {
    Numbers mean, spread;
    int t = 0;
  };
  auto states = std::make_shared<std::array<State, 4>>();
  return [=](Numbers& weight, const Numbers& gradient, double rate, std::size_t which) {
    constexpr double kBeta1 = 0.7;
    constexpr double kBeta2 = 0.8;
    constexpr double kDecay = 0.1;
    constexpr double kEps = 1e-6;
    constexpr double kLargestNorm = 10;
    State& state = (*states)[which];
    state.mean.resize(weight.size());
    state.spread.resize(weight.size());
    ++state.t;
    const bool is_lamb = form.kind == "LAMB" || form.kind == "LambNoBias";
    const bool has_bias = form.kind != "LambNoBias";
    Numbers step(weight.size());
    for (std::size_t i = 0; i < weight.size(); ++i) {
      const bool decays = form.mode == WeightDecayMode::Decay;
      const double s = gradient[i] + (decays ? 0 : kDecay * weight[i]);
      double& m = state.mean[i];
      double& v = state.spread[i];
      m = kBeta1 * m + (1 - kBeta1) * s;
      v = form.kind == "AdaMax" ? std::max(kBeta2 * v, std::fabs(s)) : kBeta2 * v + (1 - kBeta2) * s * s;
      const double mc = has_bias ? m / (1 - std::pow(kBeta1, state.t)) : m;
      const double vc = has_bias ? v / (1 - std::pow(kBeta2, state.t)) : v;
      step[i] = mc / ((form.kind == "AdaMax" ? v : std::sqrt(vc)) + kEps);
      if (decays) step[i] += kDecay * weight[i];
    }
    const double ratio = is_lamb ? std::min(length(weight), kLargestNorm) / length(step) : 1;
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] -= rate * ratio * step[i];
  };
}

TEST(AcceptanceAdam, FollowsItsEquations) {
  for (const AdamForm& form :
       {AdamForm{"Adam", "Adam", WeightDecayMode::L2Regularization},
        AdamForm{"AdamW", "Adam", WeightDecayMode::Decay}, AdamForm{"LAMB", "LAMB", WeightDecayMode::Decay},
        AdamForm{"LAMB without bias", "LambNoBias", WeightDecayMode::Decay},
        AdamForm{"AdaMax", "AdaMax", WeightDecayMode::L2Regularization}}) {
    for (const bool scaled : {true, false}) {
      SCOPED_TRACE(fmt::format("{} scaled {}", form.name, scaled));
      Optimizer optimizer = ir::make_optimizer(
          form.kind,
          {{"learningRate", {0.005, false}}, {"beta1", {0.7}}, {"beta2", {0.8}}, {"weightDecay", {0.1}}});
      optimizer.decay_mode = form.mode;
      optimizer.scaled_state = scaled;
      optimizer.loss_scaling = {10};
      expect_as_reference(optimizer, {{0.005, 0.003, 0.001}}, adam(form));
    }
  }
}

// Rows 13 and 14.
struct AdaptiveForm {
  std::string_view kind;
  double momentum = 0;
  double alpha = 0.7;
  double eps = 1e-6;
  double decay = 0.1;
  WeightDecayMode mode = WeightDecayMode::Decay;
  bool tensorflow = false;
};

Update adaptive(const AdaptiveForm& form) {
  return each([=](double w, double g, double rate, std::array<double, 4>& state) {
    auto& [v1, v2, v3, started] = state;
    if (started == 0 && form.tensorflow) v1 = 1;
    started = 1;
    const bool decays = form.mode == WeightDecayMode::Decay;
    const double s = decays ? g : g + form.decay * w;
    const double own_decay = decays ? form.decay * w : 0;
    v1 = form.kind == "AdaGrad" ? v1 + s * s : form.alpha * v1 + (1 - form.alpha) * s * s;
    double x = 0;
    if (form.kind == "AdaDelta") {
      x = s * std::sqrt(v2 + form.eps) / std::sqrt(v1 + form.eps);
      v2 = form.alpha * v2 + (1 - form.alpha) * x * x;
    } else {
      if (form.kind == "CenteredRMSProp") v2 = form.alpha * v2 + (1 - form.alpha) * s;
      const double spread = form.kind == "CenteredRMSProp" ? v1 - v2 * v2 : v1;
      x = form.tensorflow ? s / std::sqrt(spread + form.eps) : s / (std::sqrt(spread) + form.eps);
    }
    if (form.tensorflow) {
      v3 = form.momentum * v3 + rate * x;
      return w - (own_decay + v3);
    }
    v3 = form.momentum * v3 + x;
    return w - rate * (own_decay + v3);
  });
}

Optimizer optimizer_of(const AdaptiveForm& form, bool constant) {
  Optimizer optimizer = ir::make_optimizer(form.kind, {{"learningRate", {0.005, constant}},
                                                       {"alpha", {form.alpha}},
                                                       {"momentum", {form.momentum}},
                                                       {"eps", {form.eps}},
                                                       {"weightDecay", {form.decay}}});
  optimizer.decay_mode = form.mode;
  optimizer.tensorflow_rms = form.tensorflow;
  optimizer.loss_scaling = {10};
  return optimizer;
}

TEST(AcceptanceAdaptive, FollowsItsEquations) {
  for (const std::string_view kind : {"AdaGrad", "RMSProp", "CenteredRMSProp", "AdaDelta"}) {
    for (const double momentum : {0.0, 0.8}) {
      for (const WeightDecayMode mode : {WeightDecayMode::Decay, WeightDecayMode::L2Regularization}) {
        SCOPED_TRACE(fmt::format("{} momentum {} mode {}", kind, momentum, static_cast<int>(mode)));
        const AdaptiveForm form{.kind = kind, .momentum = momentum, .mode = mode};
        expect_as_reference(optimizer_of(form, false), {{0.005, 0.003, 0.001}}, adaptive(form));
      }
    }
  }
}

// 15 steps of 10 batches.
TEST(AcceptanceRmsProp, FollowsTensorFlowsForm) {
  Schedule schedule{.rates = {}, .batches = 10};
  for (int step = 0; step < 15; ++step) schedule.rates.push_back(0.02 + (1e-5 - 0.02) * step / 14);
  for (const std::string_view kind : {"RMSProp", "CenteredRMSProp"}) {
    // The centered form divides by a difference of nearly equal numbers, which makes the rounding of
    // gradients larger: after 150 updates 1.1e-5 with SSE 4.1 and AVX2, 1.4e-5 with AVX.
    schedule.most_error = kind == "RMSProp" ? 1e-5 : 2e-5;
    for (const double decay : {0.0, 1e-2}) {
      for (const WeightDecayMode mode : {WeightDecayMode::Decay, WeightDecayMode::L2Regularization}) {
        for (const bool constant : {false, true}) {
          SCOPED_TRACE(
              fmt::format("{} decay {} mode {} constant {}", kind, decay, static_cast<int>(mode), constant));
          const AdaptiveForm form{.kind = kind,
                                  .momentum = 0.9,
                                  .alpha = 0.95,
                                  .eps = 0.001,
                                  .decay = decay,
                                  .mode = mode,
                                  .tensorflow = true};
          expect_as_reference(optimizer_of(form, constant), schedule, adaptive(form));
        }
      }
    }
  }
}

}  // namespace
}  // namespace podium::testing
