#include "tests/executor/equations.h"

#include <gtest/gtest.h>

#include <cmath>

#include "executor/kernels/tools/kernel.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::testing {

using ir::Contributions;
using ir::GradientReduction;
using ir::Optimizer;

const Numbers kFirstWeight{0.7, -0.4, 1.3};

const char* const kProduct =
    "g (float[3] x) => (float loss) <float[3] w = {0.7, -0.4, 1.3}> {\n"
    "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}";

Numbers gradient(int step, int m) {
  Numbers numbers;
  for (int i = 0; i < 3; ++i) numbers.push_back(std::sin(1.3 * step + 0.9 * m + 2.1 * i) + 0.2);
  return numbers;
}

ir::Tensor float_tensor(const Numbers& numbers) {
  return tensor<float>({std::ssize(numbers)}, {numbers.begin(), numbers.end()});
}

ir::Training training_of(const std::string& text, const Optimizer& optimizer,
                         const Contributions& contributions) {
  ir::Graph graph = graph_of(text);
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  ir::Training training = ir::make_training(
      std::move(graph),
      {.loss = "loss", .weights = weights, .optimizer = optimizer, .contributions = contributions});
  ir::optimize(training, {.evaluate = kernels::evaluate});
  return training;
}

void expect_near(const ir::Tensor& found, const Numbers& expected, double relative) {
  ASSERT_EQ(found.size(), std::ssize(expected));
  double largest = 0;
  for (double number : expected) largest = std::max(largest, std::fabs(number));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(found.values<float>()[i], expected[i], relative * largest) << "element " << i;
  }
}

void expect_equations(Optimizer optimizer, const Contributions& contributions, const Schedule& schedule,
                      const Equations& equations) {
  SCOPED_TRACE(fmt::format("accumulation {} replicas {} reduction {}", contributions.accumulation,
                           contributions.replicas, static_cast<int>(contributions.reduction)));
  schedule(optimizer, 0);
  GraphTrainer trainer(training_of(kProduct, optimizer, contributions), contributions.replicas);
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

double length(const Numbers& numbers) {
  double sum = 0;
  for (double number : numbers) sum += number * number;
  return std::sqrt(sum);
}

}  // namespace podium::testing
