#include <gtest/gtest.h>
#include <cmath>

#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

ir::Datum scores() { return tensor<float>({2, 3, 2}, {-1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12}); }
ir::Datum targets() { return tensor<std::int64_t>({2, 2}, {0, 1, 2, -1}); }

std::vector<float> likelihood(const std::string& attributes, bool weighted) {
  const std::string weight = weighted ? ", w" : "";
  const auto results = run_text(
      "agraph (float[2,3,2] x, int64[2,2] t, float[3] w) => (float[] y) {"
      " y = NegativeLogLikelihoodLoss <" +
          attributes + "> (x, t" + weight + ") }",
      {scores(), targets(), tensor<float>({3}, {1, 10, 100})});
  return values<float>(results[0]);
}

TEST(NegativeLogLikelihoodLoss, PicksWeighsAndReduces) {
  EXPECT_EQ(likelihood("ignore_index = -1, reduction = \"none\"", false), (std::vector<float>{1, 4, 11, 0}));
  EXPECT_EQ(likelihood("ignore_index = -1, reduction = \"none\"", true),
            (std::vector<float>{1, 40, 1100, 0}));
  EXPECT_EQ(likelihood("ignore_index = -1, reduction = \"sum\"", true), (std::vector<float>{1141}));
  EXPECT_EQ(likelihood("ignore_index = -1", false), (std::vector<float>{16.0F / 3}));
  EXPECT_EQ(likelihood("ignore_index = -1", true), (std::vector<float>{1141.0F / 111}));
}

TEST(NegativeLogLikelihoodLoss, RefusesATargetThatIsNoClass) {
  EXPECT_THROW(likelihood("reduction = \"sum\"", false), Error);
  EXPECT_THROW(likelihood("reduction = \"most\"", false), Error);
}

TEST(NegativeLogLikelihoodLoss, TakesInt32TargetsAndHalves) {
  const auto results = run_text(
      "agraph (float16[1,2] x, int32[1] t) => (float16[] y) { y = NegativeLogLikelihoodLoss(x, t) }",
      {tensor<ir::Float16>({1, 2}, {ir::Float16(1), ir::Float16(-2.5F)}), tensor<std::int32_t>({1}, {1})});
  EXPECT_EQ(results[0].tensor.data<ir::Float16>()->bits, ir::Float16(2.5F).bits);
}

TEST(SoftmaxCrossEntropyLoss, IsTheLikelihoodOfTheSoftmax) {
  const auto results = run_text(
      "agraph (double[2,3] x, int64[2] t, double[3] w) => (double[] y, double[] p, double[] z, double[] v) {"
      " y, p = SoftmaxCrossEntropyLoss <reduction = \"none\"> (x, t)"
      " z = SoftmaxCrossEntropyLoss <reduction = \"mean\"> (x, t, w)"
      " v = SoftmaxCrossEntropyLoss <reduction = \"sum\", ignore_index = 2> (x, t) }",
      {tensor<double>({2, 3}, {1, 2, 3, 1, 1, 1}), tensor<std::int64_t>({2}, {2, 0}),
       tensor<double>({3}, {2, 1, 4})});
  const double first = std::log(1 + std::exp(-1.0) + std::exp(-2.0));
  const double second = std::log(3.0);
  EXPECT_NEAR(values<double>(results[0])[0], first, 1e-14);
  EXPECT_NEAR(values<double>(results[0])[1], second, 1e-14);
  EXPECT_NEAR(values<double>(results[1])[1], -1 - first, 1e-14);
  EXPECT_NEAR(values<double>(results[2])[0], (4 * first + 2 * second) / 6, 1e-14);
  EXPECT_NEAR(values<double>(results[3])[0], second, 1e-14);
}

TEST(SoftmaxCrossEntropyLoss, SumsOverTheClassAxisOfImages) {
  const auto results = run_text(
      "agraph (float[1,2,1,2] x, int32[1,1,2] t) => (float[] y) {"
      " y = SoftmaxCrossEntropyLoss <reduction = \"none\"> (x, t) }",
      {tensor<float>({1, 2, 1, 2}, {0, 1, 0, 3}), tensor<std::int32_t>({1, 1, 2}, {0, 0})});
  EXPECT_EQ(results[0].tensor.dims(), (ir::Dims{1, 1, 2}));
  EXPECT_NEAR(values<float>(results[0])[0], std::log(2.0F), 1e-6F);
  EXPECT_NEAR(values<float>(results[0])[1], std::log(1 + std::exp(2.0F)), 1e-6F);
}

TEST(SoftmaxCrossEntropyLoss, RefusesTargetsOfAnotherShape) {
  EXPECT_THROW(
      run_text("agraph (float[2,3] x, int64[3] t) => (float[] y) { y = SoftmaxCrossEntropyLoss(x, t) }",
               {tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}), tensor<std::int64_t>({3}, {0, 0, 0})}),
      Error);
}

}  // namespace
}  // namespace podium::testing
