#include "executor/session/model_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "executor/session/training_session.h"
#include "tests/support/refusal.h"
#include "tests/support/text_model.h"

namespace podium {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;
using testing::model_of;
using ::testing::Not;

TrainingOptions by_descent() {
  TrainingOptions options{.loss = "loss"};
  options.optimizer = ir::make_optimizer("SGD", {{"learningRate", {0.5, false}}});
  return options;
}

std::string refusal_to_train(const char* body, const TrainingOptions& options) {
  return testing::refusal([&] { TrainingSession session(model_of(body), options); });
}

TEST(ModelWeights, TrainsOnlyTheWeightsThatAreNamed) {
  constexpr const char* kTwo =
      R"(agraph (float[2] x) => (float loss) <float[2] v = {1, 1}, float[2] w = {10, 20}>
    { a = Mul(x, v) b = Mul(a, w) loss = ReduceSum <keepdims = 0> (b) })";
  TrainingOptions options = by_descent();
  options.weights = {"w"};
  TrainingSession session(model_of(kTwo), options);
  EXPECT_THAT(session.weights(), ElementsAre(Key("w")));
  options.weights = {"u"};
  EXPECT_THAT(refusal_to_train(kTwo, options), HasSubstr("weight 'u'"));
}

TEST(ModelWeights, LeavesTheNumbersOfFormulasAlone) {
  constexpr const char* kScaled =
      R"(agraph (float[2] x) => (float loss) <float half = {0.5}, float[2] w = {10, 20}>
    { a = Mul(x, half) b = Mul(a, w) loss = ReduceSum <keepdims = 0> (b) })";
  TrainingSession session(model_of(kScaled), by_descent());
  EXPECT_THAT(session.weights(), ElementsAre(Key("w")));
}

// A learnable scale bears its parameter's name; a number of a formula one that an exporter has made up.
constexpr const char* kScales =
    R"(agraph (float[2] x) => (float loss) <float[2] w = {10, 20}, float scale = {1}, float[1] bias = {1},
      float mul_const = {1}, float lambda = {1}>
    { a = Mul(x, w) e = Exp(scale) b = Mul(a, e) c = Mul(b, mul_const) d = Add(c, bias)
      sum = ReduceSum <keepdims = 0> (d) loss = Mul(sum, lambda) })";

TEST(ModelWeights, TrainsAScalarThatScalesWhatDependsOnWeights) {
  TrainingSession session(model_of(kScales), by_descent());
  EXPECT_THAT(session.weights(), ElementsAre(Key("bias"), Key("scale"), Key("w")));
  EXPECT_THAT(session.notes(),
              Contains(HasSubstr("2 initializers are taken for numbers of formulas and not trained: "
                                 "mul_const, ...")));
  TrainingOptions all = by_descent();
  all.weights = {"*"};
  TrainingSession named(model_of(kScales), all);
  EXPECT_THAT(named.weights(),
              ElementsAre(Key("bias"), Key("lambda"), Key("mul_const"), Key("scale"), Key("w")));
  EXPECT_THAT(named.notes(), Not(Contains(HasSubstr("numbers of formulas"))));
}

// Scales that were trained would leave it to the data how large an image is.
TEST(ModelWeights, LeavesScalesOfImagesAlone) {
  constexpr const char* kResized =
      R"(agraph (float[1,1,2,2] x) => (float loss) <float[1,1,1,1] w = {2}, float[2] scales = {2, 3}, float[2] ones = {1, 1}>
    { y = Conv(x, w) all = Concat <axis = 0> (ones, scales) none = Constant <value = float[0] {}> ()
      z = Resize <mode = "nearest"> (y, none, all) loss = ReduceSum <keepdims = 0> (z) })";
  TrainingOptions options = by_descent();
  options.session.clock = true;
  options.session.estimate = true;
  const TrainingSession estimate(model_of(kResized), options);
  EXPECT_THAT(estimate.notes(), Contains(HasSubstr("2 initializers are taken for numbers of formulas")));
  EXPECT_NE(estimate.timeline(), nullptr);
  EXPECT_THAT(TrainingSession(model_of(kResized), by_descent()).weights(), ElementsAre(Key("w")));
}

TEST(ModelWeights, LeavesFrozenWeightsAsTheyAre) {
  TrainingOptions options = by_descent();
  options.frozen = {"b*", "w"};
  TrainingSession session(model_of(kScales), options);
  EXPECT_THAT(session.weights(), ElementsAre(Key("scale")));
  options.frozen = {"w", "scale", "bias"};
  EXPECT_THAT(refusal_to_train(kScales, options),
              HasSubstr("are frozen, at least one that is trained needed"));
  options.frozen = {"wait*"};
  EXPECT_THAT(refusal_to_train(kScales, options),
              HasSubstr("weight 'wait*': the model has no initializer of floats"));
}

}  // namespace
}  // namespace podium
