#include <gtest/gtest.h>
#include <cmath>

#include "tests/support/run_text.h"

namespace podium::testing {
namespace {

std::vector<float> softened_ramp(std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<float>((i * 37) % 101) * 0.11F - 4.0F;
  return numbers;
}

// The definition, in double: exp(x) over the sum of exp along the middle axis of [outer, count, inner].
std::vector<double> naive_softmax(const std::vector<float>& x, std::size_t count, std::size_t inner) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t first = i / (count * inner) * count * inner + i % inner;
    double sum = 0;
    for (std::size_t k = 0; k < count; ++k) sum += std::exp(static_cast<double>(x[first + k * inner]));
    y[i] = std::exp(static_cast<double>(x[i])) / sum;
  }
  return y;
}

TEST(Softmax, AgreesWithItsDefinitionAlongEveryAxis) {
  const ir::Dims dims{3, 5, 150};
  const std::vector<float> x = softened_ramp(3 * 5 * 150);
  const std::size_t inner[] = {750, 150, 1};
  for (int axis = 0; axis < 3; ++axis) {
    const std::string number = std::to_string(axis - 3);
    const std::string body =
        "agraph (float[A,B,C] x) => (float[A,B,C] y, float[A,B,C] z) {"
        "  y = Softmax <axis = " +
        number + "> (x)  z = LogSoftmax <axis = " + number + "> (x) }";
    const auto results = run_text(body, {tensor<float>(dims, x)});
    const auto at = static_cast<std::size_t>(axis);
    const std::vector<double> expected = naive_softmax(x, static_cast<std::size_t>(dims[at]), inner[at]);
    const auto y = values<float>(results[0]);
    const auto z = values<float>(results[1]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], 1e-6) << "axis " << axis << " element " << i;
      ASSERT_NEAR(z[i], std::log(expected[i]), 2e-6) << "axis " << axis << " element " << i;
    }
  }
}

TEST(Softmax, AgreesWithItsDefinitionInRowsOfEveryLength) {
  std::vector<std::int64_t> counts{255, 264, 511, 523};
  for (std::int64_t count = 1; count < 40; ++count) counts.push_back(count);
  for (const std::int64_t count : counts) {
    const std::vector<float> x = softened_ramp(static_cast<std::size_t>(130 * count));
    const auto results = run_text(
        "agraph (float[A,B] x) => (float[A,B] y, float[A,B] z) { y = Softmax (x)  z = LogSoftmax (x) }",
        {tensor<float>({130, count}, x)});
    const std::vector<double> expected = naive_softmax(x, static_cast<std::size_t>(count), 1);
    const auto y = values<float>(results[0]);
    const auto z = values<float>(results[1]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(y[i], expected[i], 1e-6) << count << " element " << i;
      ASSERT_NEAR(z[i], std::log(expected[i]), 2e-6) << count << " element " << i;
    }
  }
}

TEST(Softmax, StandsLargeNumbersAndMinusInfinity) {
  const float infinity = std::numeric_limits<float>::infinity();
  const auto results = run_text("agraph (float[N] x) => (float[N] y) { y = Softmax(x) }",
                                {tensor<float>({4}, {10000, 10000, -infinity, -10000})});
  EXPECT_EQ(values<float>(results[0]), (std::vector<float>{0.5F, 0.5F, 0, 0}));
}

// e^-87.5 is below the normal numbers.
TEST(Softmax, GivesNothingToWhatIsFarBelowTheLargest) {
  const std::vector<float> far{0, -87.5F, -1e4F, -1e7F, -1e9F, -3e38F, -86};
  const auto results =
      run_text("agraph (float[A] x) => (float[A] y) { y = Softmax (x) }", {tensor<float>({7}, far)});
  const auto y = values<float>(results[0]);
  EXPECT_EQ(y[0], 1);
  for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(y[i], 0) << far[i];
  EXPECT_NEAR(y[6], std::exp(-86.0), 1e-43);
}

TEST(Softmax, RoundsHalfAndBfloat16OnceAtTheEnd) {
  const auto half = run_text("agraph (float16[N] x) => (float16[N] y) { y = Softmax(x) }",
                             {tensor<ir::Float16>({2}, {ir::Float16(0.0F), ir::Float16(1.0F)})});
  EXPECT_EQ(half[0].tensor.data<ir::Float16>()[1].bits, ir::Float16(0.7310586F).bits);
  const auto brain = run_text("agraph (bfloat16[N] x) => (bfloat16[N] y) { y = LogSoftmax(x) }",
                              {tensor<ir::Bfloat16>({2}, {ir::Bfloat16(0.0F), ir::Bfloat16(1.0F)})});
  EXPECT_EQ(brain[0].tensor.data<ir::Bfloat16>()[0].bits, ir::Bfloat16(-1.3132617F).bits);
}

TEST(Softmax, KeepsDoublesExact) {
  const auto results =
      run_text("agraph (double[N] x) => (double[N] y) { y = LogSoftmax(x) }", {tensor<double>({2}, {0, 1})});
  EXPECT_NEAR(values<double>(results[0])[0], -1.3132616875182228, 1e-15);
}

TEST(Softmax, OfNothingIsNothing) {
  const auto results = run_text("agraph (float[N, M] x) => (float[N, M] y) { y = Softmax <axis = 0> (x) }",
                                {tensor<float>({0, 3}, {})});
  EXPECT_EQ(results[0].tensor.dims(), (ir::Dims{0, 3}));
}

TEST(Softmax, RejectsAnAxisOutOfRange) {
  EXPECT_THROW(run_text("agraph (float[N] x) => (float[N] y) { y = Softmax <axis = 1> (x) }",
                        {tensor<float>({1}, {1})}),
               Error);
}

TEST(Hardmax, MarksTheFirstOfEqualMaxima) {
  const auto results = run_text("agraph (double[N, M] x) => (double[N, M] y) { y = Hardmax <axis = 0> (x) }",
                                {tensor<double>({3, 2}, {1, 5, 7, 5, 7, 2})});
  EXPECT_EQ(values<double>(results[0]), (std::vector<double>{0, 1, 1, 0, 0, 0}));
}

}  // namespace
}  // namespace podium::testing
