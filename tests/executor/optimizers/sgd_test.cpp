// SGD in its forms against its equations.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/executor/equations.h"

namespace podium {
namespace {

using ir::Contributions;
using ir::Optimizer;
using testing::all_contributions;
using testing::each;
using testing::expect_equations;
using testing::expect_near;
using testing::falling;
using testing::float_tensor;
using testing::gradient;
using testing::GraphTrainer;
using testing::kFirstWeight;
using testing::kSteps;
using testing::Numbers;
using testing::training_of;

TEST(Sgd, WithoutMomentum) {
  for (const Contributions& contributions : all_contributions()) {
    double rate = 0;
    expect_equations(
        ir::make_optimizer("SGD", {{"learningRate", {0.1, false}}, {"weightDecay", {0.02}}}), contributions,
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
      Optimizer optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.1, false}},
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

// Values that one weight has for itself and the other from the defaults, constant or not.
TEST(Optimizers, TakeAWeightsOwnValuesBeforeTheDefaults) {
  const std::string model =
      "g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}, float[3] v = {0.7, -0.4, 1.3}> {\n"
      "  p = Mul (w, x)\n  q = Mul (v, x)\n  s = Add (p, q)\n  loss = ReduceSum <keepdims = 0> (s)\n}";
  for (int constants = 0; constants < 16; ++constants) {
    SCOPED_TRACE(constants);
    const auto is_constant = [&](int bit) { return (constants >> bit) % 2 == 0; };
    Optimizer optimizer = ir::make_optimizer(
        "SGD", {{"learningRate", {0.1, is_constant(0)}}, {"weightDecay", {0.02, is_constant(1)}}});
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
      "SGD", {{"learningRate", {0.05}}, {"weightDecay", {0.02, false}}, {"momentum", {0.7, false}}});
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

}  // namespace
}  // namespace podium
