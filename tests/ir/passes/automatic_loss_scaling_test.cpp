// What it does to numbers, step by step, is in gradient_reduction_test.cpp.
#include "ir/passes/automatic_loss_scaling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/graph_equations.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"
#include "tests/support/refusal.h"

namespace podium::ir {
namespace {

using ::testing::HasSubstr;

Optimizer with_free_scale() {
  Optimizer optimizer = make_optimizer("SGD");
  optimizer.loss_scaling = {4, false};
  return optimizer;
}

std::string refused(const AutomaticLossScaling& scaling, const Optimizer& optimizer = with_free_scale()) {
  return testing::refusal([&] { check(scaling, optimizer); });
}

TEST(AutomaticLossScalingCheck, WantsShares) {
  EXPECT_EQ(refused({}), "");
  EXPECT_EQ(refused({.bin_edge = 1.5}),
            "automatic loss scaling: binEdgeLocation is 1.5, it must be from 0 to 1");
  EXPECT_THAT(refused({.threshold = -1}), HasSubstr("thresholdUpperCountProportion is -1"));
  EXPECT_THAT(refused({.update_period = 0}), HasSubstr("updatePeriod is 0"));
}

TEST(AutomaticLossScalingCheck, WantsAScaleThatMayChangeAndTensorsWhereTheyAreAskedFor) {
  EXPECT_THAT(refused({}, make_optimizer("SGD")), HasSubstr("loss scaling is constant"));
  EXPECT_THAT(refused({.tracked = TrackedGradients::OfTensors}), HasSubstr("0 tensors to track found"));
  EXPECT_THAT(refused({.tensors = {"w"}}), HasSubstr("1 tensors to track found, none is needed"));
}

// A graph with the gradients dp of the product p and dy of y, in float16.
struct Built {
  Training training{.graph = testing::graph_of(
                        "g (float16[2, 2] x, float16[2, 2] d) => (float16[2, 2] dp, float16[2, 2] dy) {\n"
                        "  y = MatMul(x, x)\n  dp = Neg(d)\n  dy = Exp(d)\n}")};
  Optimizer optimizer = with_free_scale();
  Contributions contributions = {};
  std::map<StateKey, Tensor> saved = {};
  UpdateBuilder builder{training, optimizer, contributions, saved};

  ValueId value(const char* name) const { return testing::value_named(training.graph, name); }
  void scale(const AutomaticLossScaling& scaling) {
    const std::vector<Flow> flows{{value("x"), value("dp")}, {value("y"), value("dy")}};
    update_loss_scale(builder, scaling, flows, {});
  }
};

TEST(AutomaticLossScaling, CountsTheLargeElementsInEachMicroBatch) {
  Built built;
  built.scale({});
  EXPECT_EQ(testing::variable_names(built.training),
            (std::vector<std::string>{"Histogram___lossScale", "HistogramSum___lossScale",
                                      "Counter___lossScale", "lossScaleUpdateFactor"}));
  EXPECT_THAT(testing::equations_of(built.training.graph, 2),
              HasSubstr("Add(Histogram___lossScale, Sum("
                        "ReduceSum(Cast(Not(LessOrEqual(Abs(Cast(dp)), 8188))))"));
}

TEST(AutomaticLossScaling, FollowsProductsOrTheTensorsThatAreNamed) {
  const auto counted = [](const AutomaticLossScaling& scaling) {
    Built built;
    built.scale(scaling);
    const std::string equations = testing::equations_of(built.training.graph, 2);
    return std::pair(equations.find("dp") != std::string::npos, equations.find("dy") != std::string::npos);
  };
  EXPECT_EQ(counted({.tracked = TrackedGradients::All}), std::pair(true, true));
  EXPECT_EQ(counted({.tracked = TrackedGradients::ConvAndMatMul}), std::pair(true, false));
  EXPECT_EQ(counted({.tracked = TrackedGradients::OfTensors, .tensors = {"y"}}), std::pair(false, true));
  Built built;
  EXPECT_THAT(
      testing::refusal([&] { built.scale({.tracked = TrackedGradients::OfTensors, .tensors = {"q"}}); }),
      HasSubstr("there is no tensor 'q'"));
}

}  // namespace
}  // namespace podium::ir
