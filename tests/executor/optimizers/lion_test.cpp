// Lion against its equations.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/infer.h"
#include "ir/passes/set_precision.h"
#include "tests/executor/equations.h"
#include "tests/support/graph_text.h"
#include "tests/support/jumps.h"

namespace podium {
namespace {

using ir::Optimizer;
using ir::WeightDecayMode;
using testing::each;
using testing::expect_equations;
using testing::falling;
using testing::GraphTrainer;
using testing::Numbers;

double sign_of(double number) { return number > 0 ? 1 : number < 0 ? -1 : 0; }

struct LionValues {
  double rate = 1e-4;
  double decay = 0;
  double beta1 = 0.9;
  double beta2 = 0.99;
};

testing::Equations lion_equations(const LionValues& now, WeightDecayMode mode) {
  return each([&now, mode, mean = Numbers(3, 0)](double w, double g, int, std::size_t i) mutable {
    if (mode == WeightDecayMode::L2Regularization) g += now.decay * w;
    const double step = sign_of(now.beta1 * mean[i] + (1 - now.beta1) * g);
    mean[i] = now.beta2 * mean[i] + (1 - now.beta2) * g;
    return w - now.rate * (mode == WeightDecayMode::Decay ? step + now.decay * w : step);
  });
}

TEST(Lion, FollowsItsEquations) {
  for (const ir::Contributions& contributions : testing::all_contributions()) {
    for (const auto mode : {WeightDecayMode::Decay, WeightDecayMode::L2Regularization}) {
      for (const bool constant : {true, false}) {
        SCOPED_TRACE(fmt::format("mode {} constant {}", static_cast<int>(mode), constant));
        LionValues now{.decay = 0.3, .beta1 = 0.8, .beta2 = 0.95};
        Optimizer optimizer = ir::make_optimizer("Lion", {{"learningRate", {0.02, false}},
                                                          {"weightDecay", {0.3, constant}},
                                                          {"beta1", {0.8, constant}},
                                                          {"beta2", {0.95, constant}}});
        optimizer.decay_mode = mode;
        optimizer.loss_scaling = {16, constant};
        expect_equations(
            optimizer, contributions,
            [&](Optimizer& changed, int step) {
              changed.defaults["learningRate"].value = now.rate = falling(0.02, step);
              if (!constant) changed.defaults["weightDecay"].value = now.decay = falling(0.3, step);
            },
            lion_equations(now, mode));
      }
    }
  }
}

TEST(Lion, HasTheDefaultsOfThePaper) {
  const LionValues now;
  expect_equations(
      ir::make_optimizer("Lion"), {}, [](Optimizer&, int) {}, lion_equations(now, WeightDecayMode::Decay));
}

// A hundredth of a gradient is lost in a mean of halves.
TEST(Lion, KeepsTheMeanOfHalfWeightsInFloat) {
  ir::Graph graph = testing::graph_of(testing::kProduct);
  ir::set_precision(graph, ir::DataType::Float16);
  ir::infer(graph);
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  const Optimizer optimizer = ir::make_optimizer("Lion", {{"learningRate", {0.0625}}});
  GraphTrainer trainer(ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = {.accumulation = 2}}));
  const ir::Tensor first = ir::in_precision(trainer.variable("w").clone(), ir::DataType::Float);
  const auto half = [](const Numbers& numbers) {
    return ir::in_precision(testing::float_tensor(numbers), ir::DataType::Float16);
  };
  double mean = 0;
  for (int step = 0; step < 5; ++step) {
    trainer.step({{{"x", half({1, -2, 0})}}, {{"x", half({0.5, -2, 0})}}});
    mean = 0.99 * mean + 0.01 * 1.5;
  }
  EXPECT_EQ(trainer.variable("Accl1___w").type(), ir::DataType::Float);
  EXPECT_NEAR(trainer.variable("Accl1___w").values<float>()[0], mean, 1e-7);
  const ir::Tensor last = ir::in_precision(trainer.variable("w"), ir::DataType::Float);
  const Numbers steps{-5 * 0.0625, 5 * 0.0625, 0};
  for (std::size_t i = 0; i < steps.size(); ++i)
    EXPECT_NEAR(last.values<float>()[i] - first.values<float>()[i], steps[i], 2e-3) << i;
}

TEST(Lion, StepsJump) {
  EXPECT_TRUE(testing::jumps(ir::make_optimizer("Lion")));
  EXPECT_FALSE(testing::jumps(ir::make_optimizer("Adam")));
}

}  // namespace
}  // namespace podium
