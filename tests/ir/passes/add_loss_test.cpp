#include "ir/passes/add_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "executor/session/host_arrays.h"
#include "ir/builder.h"
#include "ir/element.h"
#include "ir/infer.h"
#include "ir/passes/make_training.h"
#include "ir/passes/set_precision.h"
#include "tests/support/graph_text.h"
#include "tests/support/refusal.h"
#include "tests/support/run_text.h"
#include "tests/support/train_graph.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

constexpr const char* kScores = "g (float[4,3] x) => (float[4,3] y) { y = Relu <__ipu_number = 1> (x) }";

Graph scores() {
  Graph graph = testing::graph_of(kScores);
  infer(graph);
  return graph;
}

std::string types_with(LossKind kind, const std::string& target) {
  Graph graph = scores();
  const std::string name = add_loss(graph, kind, "y", target);
  verify(graph);
  const Value& loss = graph[graph.outputs.back()];
  EXPECT_EQ(loss.name, name);
  return to_string(graph[graph.inputs.back()].type) + " " + to_string(loss.type);
}

std::string loss_refusal(const std::string& output, const std::string& target) {
  Graph graph = scores();
  return testing::refusal([&] { add_loss(graph, LossKind::CrossEntropy, output, target); });
}

TEST(AddLoss, TakesClassNumbersOrATensorLikeTheOutput) {
  EXPECT_EQ(types_with(LossKind::CrossEntropy, "label"), "int64[4] float[]");
  EXPECT_EQ(types_with(LossKind::NegativeLogLikelihood, "label"), "int64[4] float[]");
  EXPECT_EQ(types_with(LossKind::MeanSquaredError, "wanted"), "float[4,3] float[]");
  EXPECT_EQ(types_with(LossKind::L1, "wanted"), "float[4,3] float[]");
}

TEST(AddLoss, UsesAnInputThatIsThere) {
  Graph graph = scores();
  add_loss(graph, LossKind::MeanSquaredError, "y", "x");
  EXPECT_EQ(graph.inputs.size(), 1U);
}

TEST(AddLoss, RunsWhereTheOutputIsMade) {
  Graph graph = scores();
  add_loss(graph, LossKind::L1, "y", "wanted");
  for (const Op& op : graph.ops) EXPECT_EQ(attribute<std::int64_t>(op, "__ipu_number"), 1) << op.name;
}

TEST(AddLoss, NamesWhatDoesNotFit) {
  EXPECT_THAT(loss_refusal("z", "label"),
              HasSubstr("output 'z': the model has none of this name, the nearest is 'y'"));
  EXPECT_THAT(loss_refusal("y", "x"),
              HasSubstr("target 'x': the model's input is float[4,3], int64[4] needed"));
}

// The loss of an output that is fed.
float loss_of(LossKind kind, const Dims& dims, const std::vector<float>& output, const Tensor& target,
              const LossOptions& options = {}) {
  Graph graph;
  Builder builder(graph);
  builder.input("y", Type::tensor(DataType::Float, dims));
  if (target.defined()) builder.input("target", target.type_and_dims());
  add_loss(graph, kind, "y", target.defined() ? "target" : "", options);
  std::vector<Datum> inputs{testing::tensor<float>(dims, output)};
  if (target.defined()) inputs.emplace_back(target);
  return testing::values<float>(testing::run_graph(std::move(graph), inputs)[0])[0];
}

Tensor labels(const std::vector<std::int64_t>& numbers, Dims dims = {}) {
  if (dims.empty()) dims = {std::ssize(numbers)};
  return testing::tensor<std::int64_t>(std::move(dims), numbers);
}

float probability_loss(const std::vector<float>& output, const LossOptions& options = {}) {
  return loss_of(LossKind::NegativeLogLikelihood, {2, 2}, output, labels({0, 1}), options);
}

TEST(AddLoss, TakesNoProbabilityAsLessThanTheSmallest) {
  EXPECT_NEAR(probability_loss({0.25F, 0.75F, 0.5F, 0.5F}), -(std::log(0.25) + std::log(0.5)) / 2, 1e-6);
  EXPECT_NEAR(probability_loss({0, 1, 0.5F, 0.5F}, {.reduction = LossReduction::Sum}),
              -(std::log(1e-7) + std::log(0.5)), 1e-5);
}

// Probabilities of two samples after a step at a learning rate.
std::vector<float> probabilities_after_a_step(DataType type, double rate) {
  Graph graph = testing::graph_of(
      "g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {0, 1, 0.5, 0.5}> { y = Mul (w, x) }");
  set_precision(graph, type);
  infer(graph);
  const std::string loss =
      add_loss(graph, LossKind::NegativeLogLikelihood, "y", "label", {.reduction = LossReduction::Sum});
  const std::vector<Variable> weights = take_weights(graph, {"w"});
  testing::GraphTrainer trainer(make_training(
      std::move(graph),
      {.loss = loss, .weights = weights, .optimizer = make_optimizer("SGD", {{"learningRate", {rate}}})}));
  trainer.step({{{"x", filled(type, {2, 2}, 1)}, {"label", labels({0, 1})}}});
  return testing::values<float>(cast(trainer.variable("w"), DataType::Float));
}

// A sample whose own class has no probability is not lost: it pulls with one over the smallest probability.
TEST(AddLoss, PullsAProbabilityBelowTheSmallestAsTheSmallest) {
  const std::vector<float> found = probabilities_after_a_step(DataType::Float, 1e-8);
  EXPECT_NEAR(found[0], 1e-8 / 1e-7, 1e-8);
  EXPECT_EQ(found[1], 1);
  EXPECT_EQ(found[2], 0.5F);
  EXPECT_NEAR(found[3], 0.5 + 1e-8 / 0.5, 1e-7);
  // 6.104e-05 is 2^-14 in float16.
  EXPECT_EQ(probabilities_after_a_step(DataType::Float16, 0x1p-16)[0], 0.25F);
}

TEST(AddLoss, TakesLogarithmsAsTheyAre) {
  EXPECT_FLOAT_EQ(loss_of(LossKind::LogNegativeLogLikelihood, {2, 2}, {-20, -1, -2, -4}, labels({0, 1})), 12);
}

TEST(AddLoss, LeavesOutSamplesThatAreIgnored) {
  const std::vector<float> scores{1, 2, 0, 0, 5, 6};
  const LossOptions options{.ignored_label = -100};
  const auto loss = [&](const std::vector<std::int64_t>& numbers, const LossOptions& with) {
    return loss_of(LossKind::CrossEntropy, {3, 2}, scores, labels(numbers), with);
  };
  EXPECT_NEAR(loss({0, -100, 1}, options), (std::log1p(std::exp(1)) + std::log1p(std::exp(-1))) / 2, 1e-6);
  EXPECT_EQ(loss({-100, -100, -100}, options), 0);
  EXPECT_NEAR(loss({0, -100, -100}, {.reduction = LossReduction::Sum, .ignored_label = -100}),
              std::log1p(std::exp(1)), 1e-6);
}

TEST(AddLoss, FindsTheClassesOnAnyAxis) {
  // Two samples of three places and two classes; the same scores with the classes last and second.
  const std::vector<float> last{1, 2, 3, 5, 0, 4, 2, 2, 1, 0, 7, 3};
  const std::vector<float> second{1, 3, 0, 2, 5, 4, 2, 1, 7, 2, 0, 3};
  const Tensor target = labels({0, 1, 1, 0, 0, 1}, {2, 3});
  const float loss = loss_of(LossKind::CrossEntropy, {2, 3, 2}, last, target);
  EXPECT_NEAR(loss, loss_of(LossKind::CrossEntropy, {2, 2, 3}, second, target, {.class_axis = 1}), 1e-6);
  double expected = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const double other = last[2 * i + (target.values<std::int64_t>()[i] == 0 ? 1 : 0)];
    const double own = last[2 * i + static_cast<std::size_t>(target.values<std::int64_t>()[i])];
    expected += std::log1p(std::exp(other - own)) / 6;
  }
  EXPECT_NEAR(loss, expected, 1e-6);
  EXPECT_NEAR(loss_of(LossKind::CrossEntropy, {2}, {1, 2}, Tensor::scalar<std::int64_t>(0)),
              std::log1p(std::exp(1)), 1e-6);
}

TEST(AddLoss, MeasuresDistances) {
  const Tensor wanted = testing::tensor<float>({2, 2}, {1, 1, 1, 1});
  const std::vector<float> output{0, 2, 4, 1};
  EXPECT_FLOAT_EQ(loss_of(LossKind::L1, {2, 2}, output, wanted), 5.0F / 4);
  EXPECT_FLOAT_EQ(loss_of(LossKind::L1, {2, 2}, output, {}, {.reduction = LossReduction::Sum, .lambda = 0.5}),
                  3.5F);
  EXPECT_FLOAT_EQ(loss_of(LossKind::MeanSquaredError, {2, 2}, output, wanted), 11.0F / 4);
  EXPECT_FLOAT_EQ(
      loss_of(LossKind::MeanSquaredError, {2, 2}, output, wanted, {.reduction = LossReduction::Sum}), 11);
}

}  // namespace
}  // namespace podium::ir
