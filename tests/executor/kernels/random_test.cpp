#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "executor/kernels/tools/random_numbers.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Tensor;
using ::testing::ElementsAre;
using testing::run_text;
using testing::tensor;
using testing::values;

double mean_of(const std::vector<float>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

const std::vector<ir::Datum> kAnything{tensor<float>({1}, {0})};

TEST(RandomNumbers, AreThoseOfNumPyForTheSameSeed) {
  RandomNumbers uniform(0);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.5488135039273248);
  EXPECT_DOUBLE_EQ(uniform.uniform(), 0.7151893663724195);
  RandomNumbers normal(0);
  EXPECT_DOUBLE_EQ(normal.normal(), 1.764052345967664);
  EXPECT_DOUBLE_EQ(normal.normal(), 0.4001572083672233);
}

TEST(RandomNormal, HasTheMeanAndTheScaleAskedFor) {
  const auto y = run_text(
      "g (float[1] x) => (float[100,100] y)"
      " { y = RandomNormal <mean = 3.0, scale = 2.0, shape = [100,100], seed = 1.0> () }",
      kAnything);
  const auto numbers = values<float>(y[0]);
  const double mean = mean_of(numbers);
  double square = 0;
  for (float number : numbers) square += (number - mean) * (number - mean);
  EXPECT_NEAR(mean, 3, 0.1);
  EXPECT_NEAR(std::sqrt(square / static_cast<double>(numbers.size())), 2, 0.1);
}

TEST(RandomUniform, StaysInsideItsBoundsInEveryFloatType) {
  const auto y = run_text(
      "g (int8[2000] x) => (bfloat16[2000] y)"
      " { y = RandomUniformLike <low = -1.0, high = 3.0, dtype = 16> (x) }",
      {Tensor(ir::DataType::Int8, {2000})});
  std::vector<float> numbers;
  for (ir::Bfloat16 number : values<ir::Bfloat16>(y[0])) numbers.push_back(static_cast<float>(number));
  EXPECT_TRUE(std::all_of(numbers.begin(), numbers.end(), [](float x) { return x >= -1 && x <= 3; }));
  EXPECT_NEAR(mean_of(numbers), 1, 0.2);
}

TEST(RandomUniform, OfTwoNodesDiffersUnlessTheySayOneSeed) {
  const auto run = [](const std::string& seed) {
    return run_text("g (float[8] x) => (float[8] y, float[8] z) { y = RandomUniformLike" + seed +
                        " (x) z = RandomUniformLike" + seed + " (x) }",
                    {Tensor(ir::DataType::Float, {8})});
  };
  const auto free = run("");
  EXPECT_NE(values<float>(free[0]), values<float>(free[1]));
  const auto seeded = run("<seed = 5.0>");
  EXPECT_EQ(values<float>(seeded[0]), values<float>(seeded[1]));
}

TEST(Bernoulli, HappensAsOftenAsAsked) {
  std::vector<double> probabilities(3000, 0.8);
  probabilities[0] = 0;
  probabilities[1] = 1;
  const auto y = run_text("g (double[3000] x) => (uint8[3000] y) { y = Bernoulli <dtype = 2> (x) }",
                          {tensor<double>({3000}, probabilities)});
  const auto drawn = values<std::uint8_t>(y[0]);
  EXPECT_EQ(drawn[0], 0);
  EXPECT_EQ(drawn[1], 1);
  EXPECT_NEAR(std::accumulate(drawn.begin(), drawn.end(), 0), 2400, 100);
  EXPECT_THROW(
      run_text("g (double[1] x) => (double[1] y) { y = Bernoulli(x) }", {tensor<double>({1}, {1.5})}), Error);
}

TEST(Multinomial, DrawsClassesByTheirLogarithms) {
  const auto y = run_text(
      "g (float[2,3] x) => (int64[2,1000] y) { y = Multinomial <sample_size = 1000, dtype = 7> (x) }",
      {tensor<float>({2, 3}, {-INFINITY, 1000, -INFINITY, 0, std::log(3.0F), -INFINITY})});
  const auto drawn = values<std::int64_t>(y[0]);
  EXPECT_TRUE(std::all_of(drawn.begin(), drawn.begin() + 1000, [](std::int64_t x) { return x == 1; }));
  EXPECT_NEAR(std::accumulate(drawn.begin() + 1000, drawn.end(), 0), 750, 60);
}

}  // namespace
}  // namespace podium::kernels
