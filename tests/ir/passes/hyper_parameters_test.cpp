#include "ir/passes/hyper_parameters.h"

#include <gtest/gtest.h>

#include "ir/contributions.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

// A scalar of two values.
constexpr ScalarSpec kScaledRate{"scaledRate", {"learningRate", kLossScaling}, [](const WeightValues& v) {
                                   return v("learningRate") / v(kLossScaling);
                                 }};

Optimizer scaled_sgd() {
  Optimizer optimizer = make_optimizer("SGD", {{"learningRate", {0.5}}});
  optimizer.loss_scaling = {4};
  return optimizer;
}

TEST(HyperParameter, IsConstantWhereAllThatItReadsIs) {
  Optimizer optimizer = scaled_sgd();
  const Contributions contributions;
  const auto found = [&] { return hyper_parameter(kScaledRate, {optimizer, "w", contributions}); };
  EXPECT_EQ(found(), (OptimizerValue{0.125, true}));
  optimizer.loss_scaling.constant = false;
  EXPECT_EQ(found(), (OptimizerValue{0.125, false}));
}

TEST(HyperParameter, IsAWeightsOwnWhereItHasAValueThatIsRead) {
  Optimizer optimizer = scaled_sgd();
  optimizer.specific["w"]["learningRate"] = {2};
  optimizer.specific["v"]["weightDecay"] = {2};
  const Contributions contributions;
  EXPECT_TRUE(is_specific(kScaledRate, {optimizer, "w", contributions}));
  EXPECT_FALSE(is_specific(kScaledRate, {optimizer, "v", contributions}));
  EXPECT_FALSE(is_specific(kLossScale, {optimizer, "w", contributions}));
}

TEST(HyperParameter, IsAWeightsOwnWhereAGroupOfReplicasSharesTheWeight) {
  const Optimizer optimizer = scaled_sgd();
  const Contributions contributions{.replicas = 4,
                                    .groups = {{"w", {.type = GroupType::Consecutive, .size = 2}}}};
  EXPECT_TRUE(is_specific(kScaledRate, {optimizer, "w", contributions}));
  EXPECT_FALSE(is_specific(kScaledRate, {optimizer, "v", contributions}));
}

TEST(HyperParameter, IsFedUnderPopArtsName) {
  EXPECT_EQ(hyper_parameter_input(kScaledRate, "", DataType::Float16), "scaledRate___default___FLOAT16");
  EXPECT_EQ(hyper_parameter_input(kScaledRate, "w", DataType::Float), "scaledRate___specific___w");
  EXPECT_EQ(hyper_parameter_input(kLossScale, "", DataType::Float), "lossScaling_FLOAT");
}

TEST(HyperParameter, IsFedInTheOrderInWhichTheGraphNamesThem) {
  Optimizer optimizer = scaled_sgd();
  optimizer.specific["w"]["learningRate"] = {2};
  Training training;
  const ValueId w = training.graph.add_value("w", Type::tensor(DataType::Float, {3}));
  const Type scalar = Type::tensor(DataType::Float, {});
  training.hyper_parameters = {{training.graph.add_value("a", scalar), &kScaledRate, w},
                               {training.graph.add_value("b", scalar), &kScaledRate}};
  const std::vector<Tensor> fed = hyper_parameter_tensors(training, optimizer, {});
  ASSERT_EQ(fed.size(), 2U);
  EXPECT_EQ(fed[0].to_number(), 0.5);
  EXPECT_EQ(fed[1].to_number(), 0.125);
}

TEST(HyperParameter, ThatScalesTheLossMustBeHeldByItsType) {
  check_loss_scale(32768, DataType::Float16);
  EXPECT_EQ(
      testing::refusal([] { check_loss_scale(65536, DataType::Float16); }),
      "loss scaling is 65536, which is inf in float16, the type of the loss; a finite number other than 0 "
      "needed");
  EXPECT_NE(testing::refusal([] { check_loss_scale(1e-9, DataType::Float16); }), "");
}

}  // namespace
}  // namespace podium::ir
