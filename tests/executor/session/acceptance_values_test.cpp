// Values of SGD that a weight has for itself or from the defaults, constant or changing (semantics, section
// 15, row 15); clipping by norm and loss scaling (semantics, section 15, row 30). Expected weights are those
// of the equations in semantics, section 10.3, in double.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "tests/executor/session/acceptance.h"
#include "tests/executor/session/reference_network.h"
#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

using ir::Optimizer;
using ::testing::HasSubstr;

constexpr std::array kValues{"learningRate", "weightDecay", "momentum", "dampening", "velocityScaling"};

// The loss is the sum of both weights times x, so that x is the gradient of each.
constexpr const char* kTwoWeights =
    R"(agraph (float[2] x) => (float loss) <float[2] a = {1, -2}, float[2] b = {3, 0.5}>
  { p = Mul(x, a) q = Mul(x, b) s = Add(p, q) loss = ReduceSum <keepdims = 0> (s) })";

// Values at a step: what is constant stays.
ir::OptimizerValues values_at(const std::array<double, 5>& first, int constants, int step) {
  ir::OptimizerValues values;
  for (std::size_t i = 0; i < kValues.size(); ++i) {
    const bool constant = ((constants >> i) & 1) != 0;
    values[kValues[i]] = {first[i] * (constant ? 1 : 1 - 0.15 * step), constant};
  }
  return values;
}

// One weight by the equations of its form.
struct ClosedForm {
  Numbers w;
  bool has_momentum;
  bool ahead;
  Numbers v = Numbers(2, 0);

  void begin(const ir::OptimizerValues& at) {
    if (!ahead) return;
    for (std::size_t i = 0; i < 2; ++i) v[i] = decay(at) * w[i];
  }
  void step(const ir::OptimizerValues& at, const Numbers& x) {
    const double rate = at.at("learningRate").value;
    const double scaling = at.at("velocityScaling").value;
    const double momentum = at.at("momentum").value;
    const double kept = 1 - at.at("dampening").value;
    for (std::size_t i = 0; i < 2; ++i) {
      if (!has_momentum) {
        w[i] = w[i] * (1 - rate * kept * at.at("weightDecay").value) - rate * kept * x[i];
      } else if (ahead) {
        v[i] += kept * scaling * x[i];
        w[i] -= rate / scaling * v[i];
        v[i] = momentum * v[i] + decay(at) * w[i];
      } else {
        v[i] = momentum * v[i] + decay(at) * w[i] + kept * scaling * x[i];
        w[i] -= rate / scaling * v[i];
      }
    }
  }
  static double decay(const ir::OptimizerValues& at) {
    return (1 - at.at("dampening").value) * at.at("velocityScaling").value * at.at("weightDecay").value;
  }
};

void expect_near(const ir::Tensor& found, const Numbers& expected, double tolerance) {
  const auto actual = found.values<float>();
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << i;
}

struct Mix {
  int default_constants;  ///< bits, in the order of kValues
  int own_constants;
  bool ahead;
  double default_momentum;
};

void expect_closed_form(const Mix& mix) {
  const std::array<double, 5> of_defaults{0.1, 0.05, mix.default_momentum, 0.2, 0.5};
  const std::array<double, 5> of_b{0.3, 0.02, 0.7, 0.1, 2};
  const auto at = [&](int step) {
    Optimizer optimizer = ir::make_optimizer("SGD", values_at(of_defaults, mix.default_constants, step));
    optimizer.specific["b"] = values_at(of_b, mix.own_constants, step);
    optimizer.sgd_state = mix.ahead ? ir::SgdState::Combined : ir::SgdState::Separate;
    optimizer.loss_scaling = {10.0 * (1 + (mix.own_constants == 0 ? step : 0)), mix.own_constants != 0};
    return optimizer;
  };
  TrainingOptions options = training_with({}, 1);
  options.optimizer = at(0);
  TrainingSession session(model_of(kTwoWeights), options);
  const bool a_has_momentum =
      mix.default_momentum != 0 || !options.optimizer.defaults.at("momentum").constant;
  ClosedForm a{.w = {1, -2}, .has_momentum = a_has_momentum, .ahead = mix.ahead};
  ClosedForm b{.w = {3, 0.5}, .has_momentum = true, .ahead = mix.ahead};
  a.begin(options.optimizer.defaults);
  b.begin(options.optimizer.specific.at("b"));
  for (int step = 0; step < 4; ++step) {
    const Optimizer now = at(step);
    session.update_optimizer(now);
    const std::vector<float> x{0.5F + 0.25F * static_cast<float>(step), -1};
    const std::vector<ir::Datum> inputs{tensor<float>({2}, x)};
    session.run(inputs);
    a.step(now.defaults, {x.begin(), x.end()});
    b.step(now.specific.at("b"), {x.begin(), x.end()});
  }
  const TensorsByName weights = session.weights();
  expect_near(weights.at("a"), a.w, 2e-6);
  expect_near(weights.at("b"), b.w, 2e-6);
}

TEST(AcceptanceMixedValues, AWeightsOwnAndTheDefaultsInEveryMixOfConstants) {
  for (int constants = 0; constants < 32; ++constants) {
    for (const int own_constants : {0, 31, 31 - constants}) {
      for (const bool ahead : {true, false}) {
        const double momentum = constants % 3 == 0 ? 0 : 0.9;
        SCOPED_TRACE(fmt::format("constants {} of b {} ahead {}", constants, own_constants, ahead));
        expect_closed_form({constants, own_constants, ahead, momentum});
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// What cannot change, and what is none of the session's.
TEST(AcceptanceMixedValues, RefusesToChangeMoreThanValuesThatMay) {
  TrainingOptions options = training_with({}, 1);
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1, false}}, {"momentum", {0.9}}});
  options.optimizer.specific["b"] = {{"learningRate", {0.2}}};
  options.optimizer.clip_norms = {{.max_norm = 1}};
  TrainingSession session(model_of(kTwoWeights), options);
  const auto refusal = [&](auto change) {
    Optimizer next = options.optimizer;
    change(next);
    try {
      session.update_optimizer(next);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal([](Optimizer& o) { o.defaults["learningRate"].value = 0.05; }), "");
  EXPECT_THAT(refusal([](Optimizer& o) { o = ir::make_optimizer("Adam"); }),
              HasSubstr("optimizer: Adam found, SGD needed as the session began with"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.defaults["momentum"].value = 0.8; }),
              HasSubstr("optimizer: momentum is constant 0.9, 0.8 found"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.defaults["learningRate"].constant = true; }),
              HasSubstr("optimizer: learningRate must not be constant, as it was when the session began"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.specific["b"]["learningRate"].value = 0.3; }),
              HasSubstr("learningRate of weight 'b' is constant 0.2, 0.3 found"));
  EXPECT_THAT(refusal([](Optimizer& o) {
                o.specific["a"] = std::exchange(o.specific["b"], {}), o.specific.erase("b");
              }),
              HasSubstr("weight 'b' has lost its own values"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.clip_norms[0].max_norm = 2; }),
              HasSubstr("clip norms cannot change"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.loss_scaling.value = 2; }),
              HasSubstr("lossScaling is constant 1, 2 found"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.nesterov = true; }),
              HasSubstr("only values that are not constant"));
  EXPECT_THAT(refusal([](Optimizer& o) { o.defaults["learningRate"].value = -1; }),
              HasSubstr("learningRate is -1, it must be at least 0"));
}

// Row 30, clip_by_norm_test and loss_scaling_test: two layers, a loss scale of 200.
struct ClipCase {
  std::string_view kind;
  ir::SgdState state;
  double momentum;
};

using Gradients = std::array<Numbers, 4>;

// The length of the gradients of the weights from `first` to before `last`, which become no longer than
// `limit`.
double clip(Gradients& gradients, std::size_t first, std::size_t last, double limit) {
  double squares = 0;
  for (std::size_t i = first; i < last; ++i) {
    for (double g : gradients[i]) squares += g * g;
  }
  const double norm = std::sqrt(squares);
  for (std::size_t i = first; i < last; ++i) {
    for (double& g : gradients[i]) g *= limit / std::max(limit, norm);
  }
  return norm;
}

double step_of(const ClipCase& one, double g, std::array<double, 3>& state) {
  auto& [m, v, t] = state;
  if (one.kind == "SGD") return m = one.momentum * m + g;
  ++t;
  m = 0.9 * m + 0.1 * g;
  v = 0.999 * v + 0.001 * g * g;
  return m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-6);
}

void expect_clipped(const ClipCase& one, const std::vector<ir::ClipNorm>& groups, int accumulation,
                    AnchorReturn returns) {
  constexpr int kSamples = 4;
  constexpr double kRate = 0.1;
  TrainingOptions options = training_with({.accumulation_factor = accumulation}, kRate);
  options.session.strategy.reduction = Reduction::Mean;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    options.session.strategy.anchors[fmt::format("GlobalNorm___{}", i)] = {.returns = returns};
  }
  ir::OptimizerValues values{{"learningRate", {kRate}}};
  if (one.momentum != 0) values["momentum"] = {one.momentum};
  options.optimizer = ir::make_optimizer(one.kind, values);
  options.optimizer.sgd_state = one.state;
  options.optimizer.clip_norms = groups;
  options.optimizer.loss_scaling = {200};
  TrainingSession session(reference_model(kSamples), options);
  ReferenceNetwork reference;
  std::array<std::vector<std::array<double, 3>>, 4> states;
  for (std::size_t i = 0; i < 4; ++i) states[i].resize(reference.weights[i].size());
  for (int step = 0; step < 5; ++step) {
    const std::vector<float> x = reference_samples(kSamples * accumulation, step);
    const std::vector<ir::Datum> inputs{input_of(x)};
    const auto outputs = session.run(inputs);
    Gradients gradients = reference.gradients(x);
    std::vector<double> norms;
    if (groups.size() == 1) {
      norms = {clip(gradients, 0, 4, groups[0].max_norm)};
    } else {
      norms = {clip(gradients, 0, 2, groups[0].max_norm), clip(gradients, 2, 4, groups[1].max_norm)};
    }
    for (std::size_t i = 0; i < session.outputs().size(); ++i) {
      const std::string& name = session.outputs()[i].name;
      if (name.starts_with("GlobalNorm___")) {
        EXPECT_NEAR(outputs[i].tensor.to_number(), norms[name == "GlobalNorm___0" ? 0 : 1], 1e-5);
      }
    }
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t e = 0; e < states[i].size(); ++e) {
        reference.weights[i][e] -= kRate * step_of(one, gradients[i][e], states[i][e]);
      }
    }
  }
  EXPECT_LT(relative_error(session.weights(), reference), 1e-5);
}

TEST(AcceptanceClipByNorm, ShortensTheReducedGradientWithoutItsLossScale) {
  for (const ClipCase& one :
       {ClipCase{"SGD", ir::SgdState::Combined, 0}, ClipCase{"SGD", ir::SgdState::Combined, 0.9},
        ClipCase{"SGD", ir::SgdState::Separate, 0.9}, ClipCase{"Adam", ir::SgdState::Combined, 0}}) {
    for (const int accumulation : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} state {} momentum {} accumulation {}", one.kind,
                               static_cast<int>(one.state), one.momentum, accumulation));
      for (const AnchorReturn returns : {AnchorReturn::All, AnchorReturn::Final, AnchorReturn::Sum}) {
        expect_clipped(one, {{.max_norm = 0.2}}, accumulation, returns);
      }
      expect_clipped(one,
                     {{.max_norm = 0.1, .weights = {"w1", "b1"}}, {.max_norm = 5, .weights = {"w2", "b2"}}},
                     accumulation, AnchorReturn::Final);
    }
  }
}

TEST(AcceptanceLossScaling, Of200ChangesNoWeight) {
  for (const double scaling : {1.0, 200.0}) {
    TrainingOptions options = training_with({}, 0.1);
    options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1}}, {"momentum", {0.9}}});
    options.optimizer.loss_scaling = {scaling};
    TrainingSession session(reference_model(4), options);
    ReferenceNetwork reference;
    std::array<Numbers, 4> velocities;
    for (std::size_t i = 0; i < 4; ++i) velocities[i].resize(reference.weights[i].size());
    for (int step = 0; step < 5; ++step) {
      const std::vector<float> x = reference_samples(4, step);
      const std::vector<ir::Datum> inputs{input_of(x)};
      session.run(inputs);
      const Gradients gradients = reference.gradients(x);
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t e = 0; e < velocities[i].size(); ++e) {
          velocities[i][e] = 0.9 * velocities[i][e] + gradients[i][e];
          reference.weights[i][e] -= 0.1 * velocities[i][e];
        }
      }
    }
    EXPECT_LT(relative_error(session.weights(), reference), 1e-5);
  }
}

}  // namespace
}  // namespace podium::testing
