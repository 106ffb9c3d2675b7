// Every optimizer against its equations in double. The loss is the sum of weight times data, so that the data
// are the gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "executor/session/session.h"
#include "importer/import.h"
#include "ir/infer.h"
#include "ir/passes/add_loss.h"
#include "ir/passes/make_training.h"
#include "ir/passes/set_precision.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"
#include "tests/support/train_graph.h"

namespace podium {
namespace {

using ir::Contributions;
using ir::GradientReduction;
using ir::Optimizer;
using ir::OptimizerKind;
using testing::GraphTrainer;
using testing::TensorsByName;
using Numbers = std::vector<double>;

constexpr int kSteps = 16;
const Numbers kFirstWeight{0.7, -0.4, 1.3};

const char* const kModel =
    "g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}> {\n"
    "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}";

// Of micro-batch m of a step.
Numbers gradient(int step, int m = 0) {
  Numbers numbers;
  for (int i = 0; i < 3; ++i) numbers.push_back(std::sin(1.3 * step + 0.9 * m + 2.1 * i) + 0.2);
  return numbers;
}

ir::Tensor float_tensor(const Numbers& numbers) {
  return testing::tensor<float>({static_cast<std::int64_t>(numbers.size())},
                                {numbers.begin(), numbers.end()});
}

ir::Training training_of(const std::string& text, const Optimizer& optimizer,
                         const Contributions& contributions = {}) {
  ir::Graph graph = testing::graph_of(text);
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  ir::Training training = ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = contributions});
  ir::optimize(training, {.evaluate = kernels::evaluate});
  return training;
}

void expect_near(const ir::Tensor& found, const Numbers& expected, double relative = 1e-6) {
  ASSERT_EQ(found.size(), std::ssize(expected));
  double largest = 0;
  for (double number : expected) largest = std::max(largest, std::fabs(number));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.values<float>()[i], expected[i], relative * largest) << "element " << i;
  }
}

// The weight and its gradient before update t, from 1, to the weight after it.
using Equations = std::function<Numbers(const Numbers& weight, const Numbers& gradient, int t)>;
using Schedule = std::function<void(Optimizer&, int step)>;

// Trains for kSteps updates whose gradient is the sum or mean over the micro-batches, and by the equations.
void expect_equations(Optimizer optimizer, const Contributions& contributions, const Schedule& schedule,
                      const Equations& equations) {
  SCOPED_TRACE(fmt::format("accumulation {} replicas {} reduction {}", contributions.accumulation,
                           contributions.replicas, static_cast<int>(contributions.reduction)));
  schedule(optimizer, 0);
  GraphTrainer trainer(training_of(kModel, optimizer, contributions), contributions.replicas);
  Numbers expected = kFirstWeight;
  const int count = contributions.accumulation * contributions.replicas;
  const double divisor = contributions.reduction == GradientReduction::Sum ? 1 : count;
  for (int step = 0; step < kSteps; ++step) {
    schedule(optimizer, step);
    std::vector<TensorsByName> micro_batches;
    Numbers total(3, 0);
    for (int m = 0; m < count; ++m) {
      const Numbers part = gradient(step, m);
      micro_batches.push_back({{"x", float_tensor(part)}});
      for (std::size_t i = 0; i < 3; ++i) total[i] += static_cast<float>(part[i]) / divisor;
    }
    trainer.step(micro_batches, ir::hyper_parameter_tensors(trainer.training(), optimizer, contributions));
    expected = equations(expected, total, step + 1);
    expect_near(trainer.variable("w"), expected);
  }
}

// Equations of one element.
Equations each(const std::function<double(double w, double g, int t, std::size_t i)>& equation) {
  return [=](const Numbers& weight, const Numbers& gradients, int t) {
    Numbers result;
    for (std::size_t i = 0; i < weight.size(); ++i) result.push_back(equation(weight[i], gradients[i], t, i));
    return result;
  };
}

const std::vector<Contributions>& all_contributions() {
  static const std::vector<Contributions> kAll{
      {},
      {.accumulation = 3},
      {.replicas = 2},
      {.replicas = 2, .reduction = GradientReduction::MeanPost},
      {.replicas = 2, .reduction = GradientReduction::MeanRunning},
      {.accumulation = 3, .replicas = 2},
      {.accumulation = 3, .replicas = 2, .reduction = GradientReduction::MeanPost},
      {.accumulation = 3, .replicas = 2, .reduction = GradientReduction::MeanRunning}};
  return kAll;
}

double falling(double first, int step) { return first * (step < 6 ? 1 : step < 11 ? 0.6 : 0.2); }

TEST(Sgd, WithoutMomentum) {
  for (const Contributions& contributions : all_contributions()) {
    double rate = 0;
    expect_equations(
        ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.1, false}}, {"weightDecay", {0.02}}}),
        contributions,
        [&](Optimizer& optimizer, int step) {
          rate = falling(0.05, step);
          optimizer.defaults["learningRate"].value = rate;
        },
        each([&](double w, double g, int, std::size_t) { return w - rate * (g + 0.02 * w); }));
  }
}

struct Momentum {
  ir::SgdState state;
  bool nesterov;
  double dampening;
};

// PyTorch's equations. With the velocity ahead, a learning rate that changes takes effect at once, since only
// the decay and the momentum are one update late, and these stay.
TEST(Sgd, WithMomentum) {
  for (const Contributions& contributions : all_contributions()) {
    for (const Momentum& form :
         {Momentum{ir::SgdState::Combined, false, 0.3}, Momentum{ir::SgdState::Separate, false, 0.3},
          Momentum{ir::SgdState::Combined, true, 0}, Momentum{ir::SgdState::Separate, true, 0}}) {
      SCOPED_TRACE(fmt::format("state {} nesterov {}", static_cast<int>(form.state), form.nesterov));
      Optimizer optimizer = ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.1, false}},
                                                                    {"weightDecay", {0.02}},
                                                                    {"momentum", {0.7}},
                                                                    {"dampening", {form.dampening}},
                                                                    {"velocityScaling", {0.5}}});
      optimizer.sgd_state = form.state;
      optimizer.nesterov = form.nesterov;
      optimizer.loss_scaling = {10};
      double rate = 0;
      Numbers velocity(3, 0);
      expect_equations(
          optimizer, contributions,
          [&](Optimizer& changed, int step) {
            rate = falling(0.05, step);
            changed.defaults["learningRate"].value = rate;
          },
          each([&](double w, double g, int, std::size_t i) {
            const double decayed = (1 - form.dampening) * (g + 0.02 * w);
            velocity[i] = 0.7 * velocity[i] + decayed;
            return w - rate * (form.nesterov ? decayed + 0.7 * velocity[i] : velocity[i]);
          }));
    }
  }
}

double length(const Numbers& numbers) {
  double sum = 0;
  for (double number : numbers) sum += number * number;
  return std::sqrt(sum);
}

// What changes from step to step in the tests of Adam's family.
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
Equations adam_equations(const AdamValues& now, OptimizerKind kind, ir::WeightDecayMode mode) {
  auto mean = std::make_shared<Numbers>(3, 0.0);
  auto spread = std::make_shared<Numbers>(3, 0.0);
  return [=, &now](const Numbers& weight, const Numbers& gradients, int t) {
    const bool is_lamb = kind == OptimizerKind::Lamb || kind == OptimizerKind::LambNoBias;
    const bool has_bias = kind != OptimizerKind::AdamNoBias && kind != OptimizerKind::LambNoBias;
    Numbers step;
    for (std::size_t i = 0; i < weight.size(); ++i) {
      double g = gradients[i];
      if (mode == ir::WeightDecayMode::L2Regularization) g += now.decay * weight[i];
      double& m = (*mean)[i];
      double& v = (*spread)[i];
      m = now.beta1 * m + (1 - now.beta1) * g;
      v = kind == OptimizerKind::AdaMax ? std::max(now.beta2 * v, std::fabs(g))
                                        : now.beta2 * v + (1 - now.beta2) * g * g;
      const double mc = has_bias ? m / (1 - std::pow(now.beta1, t)) : m;
      const double vc = has_bias && kind != OptimizerKind::AdaMax ? v / (1 - std::pow(now.beta2, t)) : v;
      double x = mc / ((kind == OptimizerKind::AdaMax ? vc : std::sqrt(vc)) + now.eps);
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
  for (const auto kind : {OptimizerKind::Adam, OptimizerKind::AdaMax, OptimizerKind::Lamb,
                          OptimizerKind::AdamNoBias, OptimizerKind::LambNoBias}) {
    for (const auto mode : {ir::WeightDecayMode::Decay, ir::WeightDecayMode::L2Regularization}) {
      for (const bool scaled : {false, true}) {
        SCOPED_TRACE(fmt::format("{} mode {} scaled {}", name_of(kind), static_cast<int>(mode), scaled));
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
      ir::make_optimizer(OptimizerKind::Adam, {{"learningRate", {0.01}}}), {}, [](Optimizer&, int) {},
      adam_equations(now, OptimizerKind::Adam, ir::WeightDecayMode::Decay));
}

TEST(Lamb, WithoutALimitOfNormsStepsAsAdam) {
  AdamValues now{.rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .decay = 0, .largest_norm = 0};
  expect_equations(
      ir::make_optimizer(OptimizerKind::Lamb, {{"learningRate", {0.01}}, {"maxWeightNorm", {0}}}), {},
      [](Optimizer&, int) {}, adam_equations(now, OptimizerKind::Adam, ir::WeightDecayMode::Decay));
}

struct AdaptiveForm {
  OptimizerKind kind;
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
    s.squares =
        form.kind == OptimizerKind::AdaGrad ? s.squares + g * g : kAlpha * s.squares + (1 - kAlpha) * g * g;
    double x = 0;
    if (form.kind == OptimizerKind::AdaDelta) {
      x = g * std::sqrt(s.second + kEps) / std::sqrt(s.squares + kEps);
      s.second = kAlpha * s.second + (1 - kAlpha) * x * x;
    } else {
      double spread = s.squares;
      if (form.kind == OptimizerKind::CenteredRmsProp) {
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
  const auto is_rms = [](OptimizerKind kind) {
    return kind == OptimizerKind::RmsProp || kind == OptimizerKind::CenteredRmsProp;
  };
  for (const auto kind : {OptimizerKind::AdaGrad, OptimizerKind::RmsProp, OptimizerKind::CenteredRmsProp,
                          OptimizerKind::AdaDelta}) {
    for (const bool tensorflow : {false, true}) {
      if (tensorflow && !is_rms(kind)) continue;
      for (const double momentum : {0.0, 0.8}) {
        for (const auto mode : {ir::WeightDecayMode::Decay, ir::WeightDecayMode::L2Regularization}) {
          SCOPED_TRACE(fmt::format("{} tensorflow {} momentum {} mode {}", name_of(kind), tensorflow,
                                   momentum, static_cast<int>(mode)));
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

// Values that one weight has for itself and the other from the defaults, constant or not.
TEST(Optimizers, TakeAWeightsOwnValuesBeforeTheDefaults) {
  const std::string model =
      "g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}, float[3] v = {0.7, -0.4, 1.3}> {\n"
      "  p = Mul (w, x)\n  q = Mul (v, x)\n  s = Add (p, q)\n  loss = ReduceSum <keepdims = 0> (s)\n}";
  for (int constants = 0; constants < 16; ++constants) {
    SCOPED_TRACE(constants);
    const auto is_constant = [&](int bit) { return (constants >> bit) % 2 == 0; };
    Optimizer optimizer = ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.1, is_constant(0)}},
                                                                  {"weightDecay", {0.02, is_constant(1)}}});
    optimizer.specific["v"] = {{"learningRate", {0.3, is_constant(2)}}, {"momentum", {0.5, is_constant(3)}}};
    optimizer.sgd_state = ir::SgdState::Separate;
    GraphTrainer trainer(training_of(model, optimizer));
    EXPECT_EQ(trainer.training().hyper_parameters.empty(), constants == 0);
    Numbers w = kFirstWeight;
    Numbers v = kFirstWeight;
    Numbers velocity(3, 0);
    for (int step = 0; step < kSteps; ++step) {
      if (!is_constant(0)) optimizer.defaults["learningRate"].value = falling(0.1, step);
      if (!is_constant(2)) optimizer.specific["v"]["learningRate"].value = falling(0.3, step);
      if (!is_constant(3)) optimizer.specific["v"]["momentum"].value = step < 9 ? 0.5 : 0.9;
      const Numbers x = gradient(step);
      trainer.step({{{"x", float_tensor(x)}}},
                   ir::hyper_parameter_tensors(trainer.training(), optimizer, {}));
      for (std::size_t i = 0; i < 3; ++i) {
        w[i] -= optimizer.defaults["learningRate"].value * (x[i] + 0.02 * w[i]);
        velocity[i] = optimizer.specific["v"]["momentum"].value * velocity[i] + x[i] + 0.02 * v[i];
        v[i] -= optimizer.specific["v"]["learningRate"].value * velocity[i];
      }
      expect_near(trainer.variable("w"), w);
      expect_near(trainer.variable("v"), v);
    }
  }
}

// A velocity that runs ahead has taken decay and momentum of the update before.
TEST(Sgd, WithTheVelocityAheadDecaysByTheValuesOfTheUpdateBefore) {
  Optimizer optimizer = ir::make_optimizer(
      OptimizerKind::Sgd,
      {{"learningRate", {0.05}}, {"weightDecay", {0.02, false}}, {"momentum", {0.7, false}}});
  double decay = 0;
  double momentum = 0;
  Numbers ahead;
  for (double w : kFirstWeight) ahead.push_back(0.02 * w);
  expect_equations(
      optimizer, {},
      [&](Optimizer& o, int step) {
        o.defaults["weightDecay"].value = decay = step < 7 ? 0.02 : 0.3;
        o.defaults["momentum"].value = momentum = step < 4 ? 0.7 : 0.2;
      },
      each([&](double w, double g, int, std::size_t i) {
        const double velocity = ahead[i] + g;
        const double next = w - 0.05 * velocity;
        ahead[i] = momentum * velocity + decay * next;
        return next;
      }));
}

TEST(ClipNorm, ShortensTheGradientsOfAGroupTogether) {
  const std::string model =
      "g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}, float[3] v = {0.7, -0.4, 1.3}> {\n"
      "  p = Mul (w, x)\n  q = Mul (v, x)\n  d = Add (q, q)\n  s = Add (p, d)\n  loss = ReduceSum <keepdims "
      "= 0> (s)\n}";
  for (const auto& groups :
       {std::vector<ir::ClipNorm>{{1.5, {}}}, std::vector<ir::ClipNorm>{{0.5, {"w"}}, {2.5, {"v"}}}}) {
    for (const auto state : {ir::SgdState::Combined, ir::SgdState::Separate}) {
      for (const int accumulation : {1, 2}) {
        Optimizer optimizer =
            ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.1}}, {"momentum", {0.5}}});
        optimizer.sgd_state = state;
        optimizer.clip_norms = groups;
        optimizer.loss_scaling = {20};
        const Contributions contributions{.accumulation = accumulation,
                                          .reduction = GradientReduction::MeanPost};
        GraphTrainer trainer(training_of(model, optimizer, contributions));
        Numbers w = kFirstWeight;
        Numbers v = kFirstWeight;
        Numbers velocity(3, 0);
        Numbers other_velocity(3, 0);
        for (int step = 0; step < kSteps; ++step) {
          const Numbers x = gradient(step);
          trainer.step(
              std::vector<TensorsByName>(static_cast<std::size_t>(accumulation), {{"x", float_tensor(x)}}));
          const bool together = groups.size() == 1;
          const double norm = length(x);
          const double of_w =
              groups[0].max_norm / std::max(groups[0].max_norm, together ? norm * std::sqrt(5) : norm);
          const double of_v = together ? of_w : 2.5 / std::max(2.5, 2 * norm);
          for (std::size_t i = 0; i < 3; ++i) {
            velocity[i] = 0.5 * velocity[i] + x[i] * of_w;
            w[i] -= 0.1 * velocity[i];
            other_velocity[i] = 0.5 * other_velocity[i] + 2 * x[i] * of_v;
            v[i] -= 0.1 * other_velocity[i];
          }
          expect_near(trainer.variable("w"), w);
          expect_near(trainer.variable("v"), v);
        }
      }
    }
  }
}

TEST(ClipNorm, OfEveryOptimizer) {
  for (const auto kind : {OptimizerKind::Sgd, OptimizerKind::Adam, OptimizerKind::Lamb,
                          OptimizerKind::AdaGrad, OptimizerKind::CenteredRmsProp, OptimizerKind::AdaDelta}) {
    SCOPED_TRACE(name_of(kind));
    Optimizer clipping = ir::make_optimizer(kind, {{"learningRate", {0.01}}});
    clipping.clip_norms = {{0.25, {}}};
    GraphTrainer clipped(training_of(kModel, clipping));
    GraphTrainer plain(training_of(kModel, ir::make_optimizer(kind, {{"learningRate", {0.01}}})));
    for (int step = 0; step < kSteps; ++step) {
      const Numbers x = gradient(step);
      Numbers shorter = x;
      for (double& number : shorter) number *= 0.25 / std::max(0.25, length(x));
      clipped.step({{{"x", float_tensor(x)}}});
      plain.step({{{"x", float_tensor(shorter)}}});
      const auto expected = plain.variable("w").values<float>();
      expect_near(clipped.variable("w"), {expected.begin(), expected.end()});
    }
  }
}

ir::Graph half_model() {
  ir::Graph graph = testing::graph_of(
      "g (float[3] x) => (float loss) <float[3] w = {0.5, -0.25, 1.5}> {\n"
      "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}");
  ir::set_precision(graph, ir::DataType::Float16);
  ir::infer(graph);
  return graph;
}

ir::Tensor half_tensor(const Numbers& numbers) {
  ir::Tensor result(ir::DataType::Float16, {static_cast<std::int64_t>(numbers.size())});
  for (std::size_t i = 0; i < numbers.size(); ++i)
    result.values<ir::Float16>()[i] = ir::Float16(static_cast<float>(numbers[i]));
  return result;
}

TEST(Float16Weights, KeepTheirStateInFloat) {
  Optimizer optimizer = ir::make_optimizer(OptimizerKind::AdamNoBias, {{"learningRate", {0.01}}});
  optimizer.state_type = ir::DataType::Float;
  optimizer.accumulator_type = ir::DataType::Float;
  ir::Graph graph = half_model();
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  GraphTrainer trainer(ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = {.accumulation = 2}}));
  double mean = 0;
  for (int step = 0; step < kSteps; ++step) {
    trainer.step({{{"x", half_tensor({1, 2, 4})}}, {{"x", half_tensor({0.0009765625, 2, 4})}}});
    mean = 0.9 * mean + 0.1 * 1.0009765625;  // more digits than float16 has
  }
  EXPECT_EQ(trainer.variable("w").type(), ir::DataType::Float16);
  EXPECT_NEAR(trainer.variable("Accl1___w").values<float>()[0], mean, 1e-6);
}

TEST(AutomaticLossScaling, DoublesTheScaleUntilGradientsAreLarge) {
  Optimizer optimizer = ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.125}}});
  optimizer.loss_scaling = {1024, false};
  for (const int accumulation : {1, 2}) {
    ir::Graph graph = half_model();
    const std::vector<ir::Variable> weights = ir::take_weights(graph);
    const Contributions contributions{.accumulation = accumulation, .reduction = GradientReduction::MeanPost};
    GraphTrainer trainer(
        ir::make_training(std::move(graph), {.loss = "loss",
                                             .weights = weights,
                                             .optimizer = optimizer,
                                             .contributions = contributions,
                                             .automatic_loss_scaling = ir::AutomaticLossScaling{}}));
    const auto hyper = ir::hyper_parameter_tensors(trainer.training(), optimizer, contributions);
    const std::vector<TensorsByName> micro_batches(static_cast<std::size_t>(accumulation),
                                                   {{"x", half_tensor({1, 0.5, -0.25})}});
    // 1024 to 8192; 8192 is above an eighth of 65504.
    for (const float factor : {2, 4, 8, 4, 8, 4}) {
      trainer.step(micro_batches, hyper);
      EXPECT_EQ(trainer.variable("lossScaleUpdateFactor").to_number(), factor);
    }
    EXPECT_EQ(static_cast<float>(trainer.variable("w").values<ir::Float16>()[0]), 0.5F - 6 * 0.125F);
  }
}

// A network whose gradients depend on its weights, with a loss over samples.
const char* const kNetwork =
    "g (float[N,3] x) => (float[N,2] y) <float[3,4] a = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, -0.9, "
    "0.1, 0.2, 0.3}, "
    "float[4] b = {0.1, 0.2, 0.3, 0.4}, float[4,2] c = {0.5, -0.4, 0.3, 0.2, -0.1, 0.6, 0.7, -0.8}> {\n"
    "  p = MatMul (x, a)\n  q = Add (p, b)\n  h = Tanh (q)\n  y = MatMul (h, c)\n}";

GraphTrainer network_trainer(int samples, const Optimizer& optimizer, const Contributions& contributions,
                             ir::LossReduction reduction) {
  importer::ImportOptions options;
  options.dims["N"] = samples;
  ir::Graph graph = importer::import_text(testing::model_text(kNetwork), options).graph;
  ir::infer(graph);
  const std::string loss =
      ir::add_loss(graph, ir::LossKind::CrossEntropy, "y", "label", {.reduction = reduction});
  const std::vector<ir::Variable> weights = ir::take_weights(graph, {"a", "b", "c"});
  return GraphTrainer(
      ir::make_training(
          std::move(graph),
          {.loss = loss, .weights = weights, .optimizer = optimizer, .contributions = contributions}),
      contributions.replicas);
}

// Samples first to first + count of a step.
TensorsByName samples(int step, int first, int count) {
  std::vector<float> x;
  std::vector<std::int64_t> labels;
  for (int n = first; n < first + count; ++n) {
    for (int i = 0; i < 3; ++i) x.push_back(static_cast<float>(std::sin(1.1 * step + 2.3 * n + 0.7 * i)));
    labels.push_back((n * 3 + step) % 2);
  }
  return {{"x", testing::tensor<float>({count, 3}, x)},
          {"label", testing::tensor<std::int64_t>({count}, labels)}};
}

TEST(Accumulation, OfAnyFactorsEqualsTheWholeBatch) {
  struct Reductions {
    ir::LossReduction loss;
    GradientReduction gradients;
  };
  Optimizer sgd = ir::make_optimizer(
      OptimizerKind::Sgd, {{"learningRate", {0.12}}, {"weightDecay", {0.08}}, {"momentum", {0.5}}});
  sgd.loss_scaling = {8};
  const Optimizer adam =
      ir::make_optimizer(OptimizerKind::Adam, {{"learningRate", {0.01}}, {"weightDecay", {0.08}}});
  for (const Optimizer& optimizer : {sgd, adam}) {
    for (const auto& [loss, gradients] : {Reductions{ir::LossReduction::Mean, GradientReduction::MeanPost},
                                          Reductions{ir::LossReduction::Mean, GradientReduction::MeanRunning},
                                          Reductions{ir::LossReduction::Sum, GradientReduction::Sum}}) {
      GraphTrainer whole = network_trainer(12, optimizer, {.reduction = gradients}, loss);
      for (int step = 0; step < 5; ++step) whole.step({samples(step, 0, 12)});
      for (const auto& [accumulation, replicas] : {std::pair(4, 1), std::pair(1, 3), std::pair(2, 3)}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(optimizer.kind), static_cast<int>(gradients),
                                 accumulation, replicas));
        const int count = accumulation * replicas;
        GraphTrainer split = network_trainer(
            12 / count, optimizer,
            {.accumulation = accumulation, .replicas = replicas, .reduction = gradients}, loss);
        for (int step = 0; step < 5; ++step) {
          std::vector<TensorsByName> parts;
          for (int m = 0; m < count; ++m) parts.push_back(samples(step, m * 12 / count, 12 / count));
          split.step(parts);
        }
        for (const char* name : {"a", "b", "c"}) {
          const auto expected = whole.variable(name).values<float>();
          expect_near(split.variable(name, replicas - 1), {expected.begin(), expected.end()}, 1e-5);
        }
      }
    }
  }
}

TEST(LossScaling, ChangesNoWeight) {
  for (const auto kind : {OptimizerKind::Sgd, OptimizerKind::Adam, OptimizerKind::RmsProp}) {
    Optimizer optimizer = ir::make_optimizer(kind, {{"learningRate", {0.01}}});
    GraphTrainer plain = network_trainer(4, optimizer, {}, ir::LossReduction::Mean);
    optimizer.loss_scaling = {200};
    GraphTrainer scaled = network_trainer(4, optimizer, {}, ir::LossReduction::Mean);
    for (int step = 0; step < 5; ++step) {
      const double loss = plain.step({samples(step, 0, 4)});
      EXPECT_NEAR(scaled.step({samples(step, 0, 4)}), loss, 1e-6);  // what is told of the loss is not scaled
    }
    for (const char* name : {"a", "b", "c"}) {
      const auto expected = plain.variable(name).values<float>();
      expect_near(scaled.variable(name), {expected.begin(), expected.end()}, 2e-6);
    }
  }
}

// Replicas that all know a gradient beforehand add it up as if they had reduced it.
TEST(Replicas, AddUpAGradientThatNoDataDecides) {
  for (const auto reduction :
       {GradientReduction::Sum, GradientReduction::MeanPost, GradientReduction::MeanRunning}) {
    const Contributions contributions{.replicas = 2, .reduction = reduction};
    GraphTrainer trainer(
        training_of("g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}> {\n"
                    "  s = Add (w, x)\n  loss = ReduceSum <keepdims = 0> (s)\n}",
                    ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.1}}}), contributions),
        2);
    trainer.step({{{"x", float_tensor({1, 2, 3})}}, {{"x", float_tensor({4, 5, 6})}}});
    const double gradients = reduction == GradientReduction::Sum ? 2 : 1;
    EXPECT_NEAR(trainer.variable("w").values<float>()[0], 0.7 - 0.1 * gradients, 1e-6);
  }
}

}  // namespace
}  // namespace podium
