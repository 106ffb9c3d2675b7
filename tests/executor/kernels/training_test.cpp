#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/error.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using testing::run_text;
using testing::tensor;
using testing::values;

ir::Tensor steps(std::int64_t count) { return ir::Tensor::scalar<std::int64_t>(count); }
ir::Tensor rate(float value) { return ir::Tensor::scalar<float>(value); }

TEST(Adam, CorrectsItsRateAfterTheFirstStep) {
  const std::string text =
      "g (float r, int64 t, double[1] x, double[1] g, double[1] v, double[1] h) => (double[1] a, double[1] b, double[1] c)"
      " { a, b, c = ai.onnx.preview.training.Adam <alpha = 0.5, beta = 0.75, epsilon = 0.0, norm_coefficient_post = 0.5>"
      " (r, t, x, g, v, h) }";
  const auto one = tensor<double>({1}, {1});
  const auto y =
      run_text(text, {rate(2), steps(2), tensor<double>({1}, {10}), tensor<double>({1}, {3}), one, one});
  const double v = 0.5 + 0.5 * 3;
  const double h = 0.75 + 0.25 * 9;
  const double adjusted = 2 * std::sqrt(1 - 0.75 * 0.75) / (1 - 0.5 * 0.5);
  EXPECT_NEAR(values<double>(y[0])[0], 0.5 * (10 - adjusted * v / std::sqrt(h)), 1e-12);
  EXPECT_NEAR(values<double>(y[1])[0], v, 1e-12);
  EXPECT_NEAR(values<double>(y[2])[0], h, 1e-12);
}

TEST(Adagrad, SlowsDownWithTheSteps) {
  const auto y = run_text(
      "g (float r, int64 t, float[1] x, float[1] g, float[1] h) => (float[1] a, float[1] b)"
      " { a, b = ai.onnx.preview.training.Adagrad <decay_factor = 0.5, epsilon = 0.0> (r, t, x, g, h) }",
      {rate(3), steps(1), tensor<float>({1}, {10}), tensor<float>({1}, {4}), tensor<float>({1}, {9})});
  EXPECT_FLOAT_EQ(values<float>(y[0])[0], 10 - 2 * 4.0F / 5);
  EXPECT_FLOAT_EQ(values<float>(y[1])[0], 25);
}

std::string momentum(const std::string& mode) {
  return "g (float r, int64 t, float[1] x, double[2] z, float[1] gx, double[2] gz, float[1] vx, double[2] vz) => (float[1] a,"
         " double[2] b, float[1] c, double[2] d) { a, b, c, d = ai.onnx.preview.training.Momentum <alpha = 0.5, beta = 2.0,"
         " norm_coefficient = 0.0, mode = \"" +
         mode + "\"> (r, t, x, z, gx, gz, vx, vz) }";
}

std::vector<ir::Datum> two_tensors(std::int64_t step) {
  return {rate(1),
          steps(step),
          tensor<float>({1}, {10}),
          tensor<double>({2}, {1, 2}),
          tensor<float>({1}, {3}),
          tensor<double>({2}, {1, 1}),
          tensor<float>({1}, {4}),
          tensor<double>({2}, {0, 2})};
}

TEST(Momentum, UpdatesTensorsOfDifferentTypesAtOnce) {
  const auto y = run_text(momentum("standard"), two_tensors(1));
  EXPECT_EQ(values<float>(y[2]), (std::vector<float>{8}));
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{2}));
  EXPECT_EQ(values<double>(y[3]), (std::vector<double>{2, 3}));
  EXPECT_EQ(values<double>(y[1]), (std::vector<double>{-1, -1}));
}

TEST(Momentum, TakesTheWholeGradientInTheFirstStep) {
  EXPECT_EQ(values<float>(run_text(momentum("standard"), two_tensors(0))[2]), (std::vector<float>{5}));
}

TEST(Momentum, LooksAheadAsNesterovDid) {
  EXPECT_EQ(values<float>(run_text(momentum("nesterov"), two_tensors(1))[0]),
            (std::vector<float>{10 - (3 + 0.5F * 8)}));
}

TEST(Momentum, RefusesAnUnknownMode) { EXPECT_THROW(run_text(momentum("heavy"), two_tensors(0)), Error); }

TEST(Optimizers, RefuseAGradientOfAnotherShape) {
  EXPECT_THROW(run_text("g (float r, int64 t, float[2] x, float[1] g, float[2] h) => (float[2] a, float[2] b)"
                        " { a, b = ai.onnx.preview.training.Adagrad (r, t, x, g, h) }",
                        {rate(1), steps(0), tensor<float>({2}, {1, 2}), tensor<float>({1}, {1}),
                         tensor<float>({2}, {1, 2})}),
               Error);
}

}  // namespace
}  // namespace podium::kernels
