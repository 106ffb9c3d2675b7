// Every optimizer against its equations in double. The loss is the sum of weight times data, so that the data are
// the gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "ir/passes/make_training.h"
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
  return testing::tensor<float>({static_cast<std::int64_t>(numbers.size())}, {numbers.begin(), numbers.end()});
}

ir::Training training_of(const std::string& text, const Optimizer& optimizer, const Contributions& contributions = {}) {
  ir::Graph graph = testing::graph_of(text);
  std::vector<ir::Variable> weights = ir::take_weights(graph);
  return ir::make_training(std::move(graph), {.loss = "loss", .weights = weights, .optimizer = optimizer,
                                              .contributions = contributions});
}

void expect_near(const ir::Tensor& found, const Numbers& expected, double relative = 1e-6) {
  ASSERT_EQ(found.size(), std::ssize(expected));
  double largest = 0;
  for (double number : expected) largest = std::max(largest, std::fabs(number));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.values<float>()[i], expected[i], relative * largest) << "element " << i;
  }
}

// Gradient of one element and number of the update, from 1, to the weight's new value.
using Equations = std::function<double(double weight, double gradient, int t, std::size_t element)>;
using Schedule = std::function<void(Optimizer&, int step)>;

// Trains for kSteps updates whose gradient is the mean over the micro-batches, and by the equations.
void expect_equations(Optimizer optimizer, const Contributions& contributions, const Schedule& schedule,
                      const Equations& equations) {
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
    for (std::size_t i = 0; i < 3; ++i) expected[i] = equations(expected[i], total[i], step + 1, i);
    expect_near(trainer.variable("w"), expected);
  }
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
        ir::make_optimizer(OptimizerKind::Sgd, {{"learningRate", {0.1, false}}, {"weightDecay", {0.02}}}), contributions,
        [&](Optimizer& optimizer, int step) {
          rate = falling(0.05, step);
          optimizer.defaults["learningRate"].value = rate;
        },
        [&](double w, double g, int, std::size_t) { return w - rate * (g + 0.02 * w); });
  }
}

struct Momentum {
  ir::SgdState state;
  bool nesterov;
  double dampening;
};

// PyTorch's equations. With the velocity ahead, a learning rate that changes takes effect at once, since only the
// decay and the momentum are one update late, and these stay.
TEST(Sgd, WithMomentum) {
  for (const Contributions& contributions : all_contributions()) {
    for (const Momentum& form : {Momentum{ir::SgdState::Combined, false, 0.3}, Momentum{ir::SgdState::Separate, false, 0.3},
                                 Momentum{ir::SgdState::Combined, true, 0}, Momentum{ir::SgdState::Separate, true, 0}}) {
      SCOPED_TRACE(fmt::format("{} {} accumulation {} replicas {} reduction {}", static_cast<int>(form.state), form.nesterov,
                               contributions.accumulation, contributions.replicas, static_cast<int>(contributions.reduction)));
      Optimizer optimizer = ir::make_optimizer(
          OptimizerKind::Sgd, {{"learningRate", {0.1, false}}, {"weightDecay", {0.02}}, {"momentum", {0.7}},
                               {"dampening", {form.dampening}}, {"velocityScaling", {0.5}}});
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
          [&](double w, double g, int, std::size_t i) {
            const double decayed = (1 - form.dampening) * (g + 0.02 * w);
            velocity[i] = 0.7 * velocity[i] + decayed;
            return w - rate * (form.nesterov ? decayed + 0.7 * velocity[i] : velocity[i]);
          });
    }
  }
}

}  // namespace
}  // namespace podium
