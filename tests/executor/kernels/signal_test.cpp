#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "executor/kernels/tools/fourier.h"
#include "ir/error.h"
#include "tests/support/fusing.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using testing::run_text;
using testing::tensor;
using testing::values;
using Complex = std::complex<double>;

std::vector<Complex> some_line(std::int64_t length) {
  std::vector<Complex> line;
  for (std::int64_t i = 0; i < length; ++i) line.emplace_back(std::sin(0.7 * i * i), std::cos(1.3 * i));
  return line;
}

std::vector<Complex> by_definition(const std::vector<Complex>& x) {
  std::vector<Complex> y(x.size());
  const double turn = -2 * std::numbers::pi / static_cast<double>(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t n = 0; n < x.size(); ++n)
      y[k] += x[n] * std::polar(1.0, turn * static_cast<double>(k * n % x.size()));
  }
  return y;
}

TEST(Fourier, IsItsDefinitionForEveryKindOfLength) {
  for (const std::int64_t length : {1, 2, 3, 8, 10, 31, 37, 60, 101, 2 * 53}) {
    std::vector<Complex> line = some_line(length);
    const std::vector<Complex> expected = by_definition(line);
    Fourier(length).forward(line.data());
    for (std::size_t k = 0; k < line.size(); ++k)
      EXPECT_LT(std::abs(line[k] - expected[k]), 1e-11) << length << ' ' << k;
  }
}

TEST(Fourier, InverseGivesTheLineBack) {
  for (const std::int64_t length : {1, 6, 41, 97}) {
    std::vector<Complex> line = some_line(length);
    Fourier fourier(length);
    fourier.forward(line.data());
    fourier.inverse(line.data());
    for (std::size_t k = 0; k < line.size(); ++k) EXPECT_LT(std::abs(line[k] - some_line(length)[k]), 1e-13);
  }
}

std::string dft_text(const std::string& attributes, const std::string& type = "float") {
  return "g (" + type + "[A,B,C] x, int64 n, int64 axis) => (" + type + "[D,E,F] y) { y = DFT <" +
         attributes + "> (x, n, axis) }";
}

TEST(Dft, PadsAShortSignalWithZeros) {
  const auto y = run_text(dft_text("onesided = 0", "double"),
                          {tensor<double>({1, 2, 1}, {1, 2}), ir::Tensor::scalar<std::int64_t>(4),
                           ir::Tensor::scalar<std::int64_t>(1)});
  const std::vector<double> expected{3, 0, 1, -2, -1, 0, 1, 2};
  ASSERT_EQ(y[0].tensor.dims(), (ir::Dims{1, 4, 2}));
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(values<double>(y[0])[i], expected[i], 1e-15);
}

TEST(Dft, GoesAlongTheFirstAxisToo) {
  const auto y = run_text(dft_text("onesided = 0"),
                          {tensor<float>({2, 2, 1}, {1, 2, 3, 4}), ir::Tensor::scalar<std::int64_t>(2),
                           ir::Tensor::scalar<std::int64_t>(-3)});
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{4, 0, 6, 0, -2, 0, -2, 0}));
}

TEST(Dft, OneSidedInverseGivesRealNumbersOfOddLengthBack) {
  const std::string text =
      "g (double[1,5,1] x, int64 n, int64 axis) => (double[1,N,1] y) {"
      " s = DFT <onesided = 1> (x, n, axis) y = DFT <onesided = 1, inverse = 1> (s, n, axis) }";
  const std::vector<double> x{3, -1, 4, 1, -5};
  const auto y = run_text(text, {tensor<double>({1, 5, 1}, x), ir::Tensor::scalar<std::int64_t>(5),
                                 ir::Tensor::scalar<std::int64_t>(1)});
  ASSERT_EQ(y[0].tensor.dims(), (ir::Dims{1, 5, 1}));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(values<double>(y[0])[i], x[i], 1e-14);
}

TEST(Dft, TakesHalves) {
  std::vector<ir::Float16> x{ir::Float16(1.0F), ir::Float16(2.0F)};
  const auto y = run_text("g (float16[1,2,1] x) => (float16[1,2,2] y) { y = DFT (x) }",
                          {tensor<ir::Float16>({1, 2, 1}, x)});
  const auto found = values<ir::Float16>(y[0]);
  EXPECT_EQ(static_cast<float>(found[0]), 3);
  EXPECT_EQ(static_cast<float>(found[2]), -1);
}

TEST(Dft, RefusesTheAxisOfRealAndImaginaryParts) {
  EXPECT_THROW(run_text(dft_text("inverse = 0"),
                        {tensor<float>({1, 2, 1}, {1, 2}), ir::Tensor::scalar<std::int64_t>(2),
                         ir::Tensor::scalar<std::int64_t>(2)}),
               Error);
}

TEST(Stft, WeighsEachFrameWithTheWindow) {
  const auto y =
      run_text("g (float[1,5,1] x, int64 step, float[2] w) => (float[1,F,2,2] y) { y = STFT (x, step, w) }",
               {tensor<float>({1, 5, 1}, {1, 2, 3, 4, 5}), ir::Tensor::scalar<std::int64_t>(2),
                tensor<float>({2}, {1, 10})});
  ASSERT_EQ(y[0].tensor.dims(), (ir::Dims{1, 2, 2, 2}));
  EXPECT_EQ(values<float>(y[0]), (std::vector<float>{21, 0, -19, 0, 43, 0, -37, 0}));
}

TEST(Stft, RefusesASignalShorterThanAFrame) {
  EXPECT_THROW(
      run_text("g (float[1,2,1] x, int64 step, float[3] w) => (float[1,F,2,2] y) { y = STFT (x, step, w) }",
               {tensor<float>({1, 2, 1}, {1, 2}), ir::Tensor::scalar<std::int64_t>(1),
                tensor<float>({3}, {1, 1, 1})}),
      Error);
}

TEST(HannWindow, ComesInTheTypeAskedFor) {
  const auto y =
      run_text("g (int32 n) => (double[N] y) { y = HannWindow <output_datatype = 11, periodic = 0> (n) }",
               {ir::Tensor::scalar<std::int32_t>(3)});
  ASSERT_EQ(values<double>(y[0]).size(), 3U);
  EXPECT_NEAR(values<double>(y[0])[1], 1, 1e-15);
  EXPECT_NEAR(values<double>(y[0])[2], 0, 1e-15);
}

TEST(HannWindow, OfNoPointsIsEmpty) {
  const auto y =
      run_text("g (int64 n) => (float[N] y) { y = HannWindow (n) }", {ir::Tensor::scalar<std::int64_t>(0)});
  EXPECT_EQ(y[0].tensor.dims(), ir::Dims{0});
}

TEST(HannWindow, RefusesANegativeSize) {
  EXPECT_THROW(
      run_text("g (int64 n) => (float[N] y) { y = HannWindow (n) }", {ir::Tensor::scalar<std::int64_t>(-1)}),
      Error);
}

TEST(MelWeightMatrix, LeavesOutWhatIsBeyondTheSpectrum) {
  const auto y = run_text(
      "g (int64 b, int64 n, int64 rate, float low, float high) => (float[5,B] y)"
      " { y = MelWeightMatrix (b, n, rate, low, high) }",
      {ir::Tensor::scalar<std::int64_t>(2), ir::Tensor::scalar<std::int64_t>(8),
       ir::Tensor::scalar<std::int64_t>(8000), ir::Tensor::scalar<float>(0),
       ir::Tensor::scalar<float>(16000)});
  EXPECT_EQ(y[0].tensor.dims(), (ir::Dims{5, 2}));
}

TEST(Stft, RefusesAWindowWithoutElements) {
  EXPECT_THAT(testing::error_of(
                  "g (float[1,8,1] x, int64 step, float[0] w) => (float[a,b,c,d] y) { y = STFT(x, step, w) }",
                  {testing::random_floats({1, 8, 1}, 1), ir::Tensor::scalar(std::int64_t{2}),
                   ir::Tensor(ir::DataType::Float, {0})}),
              ::testing::HasSubstr("the size of window is 0"));
}

// Walked bin by bin, an edge of 1e30 Hz would take longer than anybody waits.
TEST(MelWeightMatrix, BinsOutsideOfTheSpectrumTakeNoTime) {
  const auto matrix = [](float low, float high) {
    return testing::run_op(
        "MelWeightMatrix",
        {ir::Tensor::scalar(std::int64_t{4}), ir::Tensor::scalar(std::int64_t{16}),
         ir::Tensor::scalar(std::int64_t{8000}), ir::Tensor::scalar(low), ir::Tensor::scalar(high)});
  };
  EXPECT_EQ(matrix(0, 1e30F).dims(), (ir::Dims{9, 4}));
  EXPECT_THROW(matrix(0, NAN), Error);
  EXPECT_THROW(matrix(-1e6F, 4000), Error);
}

}  // namespace
}  // namespace podium::kernels
