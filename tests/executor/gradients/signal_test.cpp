// Gradients of Fourier transforms, determinants and quantised numbers against differences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/gradients.h"
#include "tests/support/run_text.h"

namespace podium {
namespace {

using testing::expect_gradients_of_differences;
using testing::numbers;
using testing::tensor;

TEST(GradientsOfTransforms, InBothDirectionsOfRealAndComplexNumbers) {
  for (const int inverse : {0, 1}) {
    for (const std::int64_t parts : {1, 2}) {
      for (const int length : {0, 3, 5, 8}) {
        const std::string given = length == 0 ? "" : fmt::format("n = Constant <value_int = {}> () ", length);
        expect_gradients_of_differences(
            fmt::format(
                "g (double[] x) => (double[] y) {{ {}a = Constant <value_int = 1> () y = DFT <inverse = {}> (x, {}, a) }}",
                given, inverse, length == 0 ? "" : "n"),
            {numbers({2, 5, 3, parts})});
      }
    }
  }
}

TEST(GradientsOfTransforms, OfHalfSpectra) {
  for (const int length : {4, 5, 7}) {
    for (const int inverse : {0, 1}) {
      expect_gradients_of_differences(
          fmt::format(
              "g (double[] x) => (double[] y) {{ n = Constant <value_int = {}> () y = DFT <inverse = {}, onesided = 1> (x, n) }}",
              length, inverse),
          {numbers({2, 5, inverse == 1 ? 2 : 1})});
    }
  }
}

TEST(GradientsOfTransforms, OfFramesOfASignal) {
  for (const int onesided : {0, 1}) {
    expect_gradients_of_differences(
        fmt::format(
            "g (double[] x, double[] w) => (double[] y) {{ s = Constant <value_int = 2> () y = STFT <onesided = {}> (x, s, w) }}",
            onesided),
        {numbers({2, 9, 1}), numbers({4}, 1)});
  }
  expect_gradients_of_differences(
      "g (double[] x) => (double[] y) { s = Constant <value_int = 3> () l = Constant <value_int = 4> ()"
      " y = STFT <onesided = 0> (x, s, , l) }",
      {numbers({1, 10, 2})});
}

TEST(GradientsOfDeterminants, OfAnySize) {
  for (const std::int64_t n : {1, 2, 3, 4}) {
    expect_gradients_of_differences("g (double[] x) => (double[] y) { y = Det (x) }", {numbers({2, n, n})});
  }
}

TEST(GradientsOfDeterminants, OfGradients) {
  for (const std::int64_t n : {1, 2, 3}) {
    expect_gradients_of_differences(
        "g (double[] x) => (double[] y) { d = Det (x) e = Exp (d) m = Constant <value_ints = [-1]> () f = Reshape (e, m)"
        " s = ReduceSum <keepdims = 0> (f) y = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }",
        {numbers({2, n, n})});
  }
}

TEST(GradientsOfDeterminants, OfMatricesOfEveryRank) {
  const auto expect = [](std::int64_t n, const std::vector<double>& matrix) {
    expect_gradients_of_differences("g (double[] x) => (double[] y) { y = Det (x) }",
                                    {tensor<double>({n, n}, matrix)});
  };
  expect(1, {0});
  expect(3, {1, 2, 3, 2, 4, 6, 1, 0, 1});
  expect(3, {1, 2, 3, 2, 4, 6, 3, 6, 9});
  expect(3, {0, 0, 0, 0, 0, 5, 0, 0, 0});
  expect(4, {0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 4});
}

TEST(GradientsOfDeterminants, OfAMatrixWithoutAnInverse) {
  expect_gradients_of_differences("g (double[] x) => (double[] y) { y = Det (x) }",
                                  {tensor<double>({2, 2}, {1, 2, 2, 4})});
}

// The result is linear in the scale: its change by a step of 1 is the gradient.
TEST(GradientsOfDequantizeLinear, OfItsScale) {
  struct ScaleCase {
    const char* attributes;
    ir::Dims scale;
  };
  for (const ScaleCase& of :
       {ScaleCase{"axis = 1", {}}, ScaleCase{"axis = 1, output_dtype = 1", {}}, ScaleCase{"axis = 0", {2}},
        ScaleCase{"axis = 1", {4}}, ScaleCase{"axis = 1, block_size = 3", {2, 2}}}) {
    const auto x = tensor<std::int8_t>({2, 4}, {1, -2, 3, 4, -5, 6, 7, 8});
    ir::Tensor scale(ir::DataType::Float, of.scale);
    ir::Tensor zero(ir::DataType::Int8, of.scale);
    for (std::int64_t i = 0; i < scale.size(); ++i) scale.data<float>()[i] = 0.5F + static_cast<float>(i);
    for (std::int64_t i = 0; i < scale.size(); ++i)
      zero.data<std::int8_t>()[i] = static_cast<std::int8_t>(i - 1);
    const std::string dims = of.scale.empty()       ? "float s, int8 z"
                             : of.scale.size() == 1 ? "float[A] s, int8[A] z"
                                                    : "float[A,B] s, int8[A,B] z";
    const std::string head = "g (int8[2,4] x, " + dims + ")";
    const std::string y = std::string("y = DequantizeLinear <") + of.attributes +
                          "> (x, s, z) l = ReduceSum <keepdims = 0> (y)";
    const auto gradient = testing::run_text(
        head + " => (float[] d) { " + y +
            " d = ai.onnx.preview.training.Gradient <xs = [\"s\"], zs = [\"x\", \"z\"], y = \"l\"> (s, x, z) }",
        {x, scale, zero});
    testing::note_compared(head + " => (float l) { " + y + " }", {x, scale, zero});
    const auto total = [&](const ir::Tensor& with) {
      return testing::run_text(head + " => (float l) { " + y + " }", {x, with, zero})[0].tensor.to_number();
    };
    for (std::int64_t i = 0; i < scale.size(); ++i) {
      ir::Tensor more = scale.clone();
      more.data<float>()[i] += 1;
      EXPECT_NEAR(gradient[0].tensor.data<float>()[i], total(more) - total(scale), 1e-4)
          << of.attributes << " " << i;
    }
  }
}

// The scale is the range of x and 0 in 255 steps.
TEST(GradientsOfDynamicQuantizeLinear, OfTheScaleThatItFinds) {
  const std::string text =
      "g (float[A] x) => (float[A] d) { q, s, z = DynamicQuantizeLinear (x)"
      " d = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }";
  testing::note_compared("g (float[A] x) => (float s) { q, s, z = DynamicQuantizeLinear (x) }",
                         {tensor<float>({3}, {1, 2, 3})});
  const auto gradient = [&](const std::vector<float>& x) {
    return testing::values<float>(testing::run_text(text, {tensor<float>({3}, x)})[0]);
  };
  constexpr float kStep = 1.0F / 255;
  EXPECT_EQ(gradient({1, -2, 3}), (std::vector<float>{0, -kStep, kStep}));
  EXPECT_EQ(gradient({1, 2, 0.5F}), (std::vector<float>{0, kStep, 0}));
}

}  // namespace
}  // namespace podium
