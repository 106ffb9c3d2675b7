#include "ir/passes/differentiate_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/passes/inherit_placement.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_trained.h"

namespace podium::ir {
namespace {

using ::testing::ElementsAre;

constexpr const char* kTwoProducts =
    "g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
    "  p = Mul <__ipu_number = 1, __pipeline_stage = 0> (w, x)\n"
    "  q = Mul <__ipu_number = 0, __pipeline_stage = 1> (p, p)\n"
    "  loss = ReduceSum <keepdims = 0, __ipu_number = 0, __pipeline_stage = 1> (q)\n}";

// The derivatives of a loss by "w".
struct WayBackFrom {
  Training training;
  Optimizer optimizer = make_optimizer("SGD");
  TrainingRequest request = {};
  Derivatives derivatives = {};

  explicit WayBackFrom(const char* text, const std::string& loss, std::vector<std::string> asked = {})
      : training{.graph = testing::graph_of(text)} {
    request.loss = loss;
    request.gradients_of = std::move(asked);
    request.weights = take_weights(training.graph, {"w"});
    UpdateBuilder builder(training, optimizer, request.contributions, request.saved);
    const std::vector<ValueId> xs{request.weights.at(0).value};
    derivatives = differentiate_loss(builder, find_value(training.graph, loss), xs, request);
  }

  std::vector<std::string> names(const std::vector<ValueId>& values) const {
    return testing::names_of(training.graph, values);
  }
};

TEST(DifferentiateLoss, NamesGradientsAfterTheirValues) {
  const WayBackFrom made(kTwoProducts, "loss");
  EXPECT_THAT(made.names(made.derivatives.gradients), ElementsAre("Gradient___w"));
  for (const auto& [gradient, value] : made.training.gradients) {
    EXPECT_EQ(made.training.graph[gradient].name, "Gradient___" + made.training.graph[value].name);
  }
  EXPECT_FALSE(find_value(made.training.graph, "Gradient___p") == kNoValue);
  EXPECT_EQ(find_value(made.training.graph, "Gradient___x"), kNoValue);
}

TEST(DifferentiateLoss, GivesOtherGradientsThatAreAskedFor) {
  const WayBackFrom made(kTwoProducts, "loss", {"x"});
  EXPECT_FALSE(find_value(made.training.graph, "Gradient___x") == kNoValue);
  EXPECT_THAT(made.names(made.derivatives.gradients), ElementsAre("Gradient___w"));
}

TEST(DifferentiateLoss, GoesBackThroughTheStages) {
  WayBackFrom made(kTwoProducts, "loss");
  const GradientPlaces places = place_derivatives(made.training.graph, made.derivatives);
  EXPECT_EQ(place_suffix(places.start), "_VGraph0_PStage1");
  const ValueId weight = made.request.weights[0].value;
  EXPECT_EQ(place_suffix(places.of.at(weight)), "_VGraph1_PStage2");
}

TEST(DifferentiateLoss, NeedsALossThatAnOpMakes) {
  const char* text = "g (float x) => (float y) <float w = {1}> { y = Mul (x, w) }";
  try {
    const WayBackFrom made(text, "x");
    FAIL() << "an input is taken for a loss";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "loss 'x' does not depend on any weight");
  }
}

}  // namespace
}  // namespace podium::ir
