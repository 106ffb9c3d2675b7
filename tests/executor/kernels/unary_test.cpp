#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/element.h"
#include "ir/error.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::Bfloat16;
using ir::Dims;
using ir::Float16;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::kInfinity;
using testing::kNan;
using testing::run_op;
using testing::tensor;
using testing::values;

template <class T>
std::vector<T> run_one(std::string_view name, const std::vector<T>& x,
                       std::vector<ir::Attribute> attributes = {}) {
  const auto y = run_op(name, {tensor<T>({std::ssize(x)}, x)}, std::move(attributes));
  return values<T>(y);
}

template <class Narrow>
std::vector<float> run_narrow(std::string_view name, const std::vector<float>& x) {
  std::vector<Narrow> narrow(x.begin(), x.end());
  std::vector<float> wide;
  for (Narrow y : run_one(name, narrow)) wide.push_back(static_cast<float>(y));
  return wide;
}

TEST(Relu, CutsWhatIsNegativeAndKeepsNan) {
  const auto y = run_one<float>("Relu", {-1, 0, 2, kNan, -kInfinity});
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_THAT((std::vector<float>{y[0], y[1], y[2], y[4]}), ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(run_one<std::int8_t>("Relu", {-128, 5}), ElementsAre(0, 5));
}

TEST(Abs, LeavesTheMostNegativeIntegerAsItIs) {
  EXPECT_THAT(run_one<std::int8_t>("Abs", {-128, -127, 3}), ElementsAre(-128, 127, 3));
  EXPECT_THAT(run_one<std::uint64_t>("Abs", {~0ULL}), ElementsAre(~0ULL));
}

TEST(Neg, FlipsTheSignOfZeroToo) { EXPECT_TRUE(std::signbit(run_one<float>("Neg", {0})[0])); }

TEST(Sign, KeepsNanAndKnowsUnsigned) {
  EXPECT_THAT(run_one<double>("Sign", {-3, 0, 0.1}), ElementsAre(-1, 0, 1));
  EXPECT_TRUE(std::isnan(run_one<float>("Sign", {kNan})[0]));
  EXPECT_THAT(run_one<std::uint8_t>("Sign", {0, 200}), ElementsAre(0, 1));
}

TEST(Round, GoesToTheEvenNeighbour) {
  EXPECT_THAT(run_one<float>("Round", {0.5F, 1.5F, 2.5F, -0.5F, -1.5F}), ElementsAre(0, 2, 2, 0, -2));
  EXPECT_THAT(run_narrow<Bfloat16>("Round", {2.5F, 3.5F}), ElementsAre(2, 4));
}

TEST(Erf, TruncatesForIntegers) {
  EXPECT_THAT(run_one<std::int32_t>("Erf", {-9, 0, 1}), ElementsAre(-1, 0, 0));
}

// The functions that are our own, over all magnitudes, against the C library in double.
struct Function {
  const char* name;
  double (*exact)(double);
  double most_ulps;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(-std::fabs(x))) + std::max(x, 0.0); }
double mish(double x) { return x * std::tanh(softplus(x)); }
double elu(double x) { return x < 0 ? std::expm1(x) : x; }

class OwnFunction : public ::testing::TestWithParam<Function> {};

TEST_P(OwnFunction, IsWithinAFewUnitsInTheLastPlace) {
  std::vector<float> x;
  for (float magnitude = 1e-40F; magnitude < 85; magnitude *= 1.01F) {
    x.push_back(magnitude);
    x.push_back(-magnitude);
  }
  const auto y = run_one<float>(GetParam().name, x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = GetParam().exact(x[i]);
    if (std::isnan(exact)) {
      EXPECT_TRUE(std::isnan(y[i])) << x[i];
      continue;
    }
    const double ulp = std::ldexp(1.0, std::max(std::ilogb(exact), -126) - 23);
    EXPECT_LE(std::fabs(y[i] - exact), GetParam().most_ulps * ulp) << GetParam().name << " of " << x[i];
  }
}

INSTANTIATE_TEST_SUITE_P(, OwnFunction,
                         ::testing::Values(Function{"Exp", std::exp, 1.1}, Function{"Log", std::log, 1},
                                           Function{"Sin", std::sin, 0.51}, Function{"Cos", std::cos, 0.51},
                                           Function{"Tanh", std::tanh, 1.5}, Function{"Erf", std::erf, 1.1},
                                           Function{"Sigmoid", sigmoid, 3}, Function{"Softplus", softplus, 3},
                                           Function{"Mish", mish, 5}, Function{"Elu", elu, 2}),
                         [](const auto& given) { return given.param.name; });

TEST(OwnFunctions, TreatTheEdgesAsTheLibraryDoes) {
  EXPECT_THAT(run_one<float>("Exp", {-kInfinity, -104, 89, kInfinity}),
              ElementsAre(0, 0, kInfinity, kInfinity));
  EXPECT_THAT(run_one<float>("Log", {0, kInfinity, 1}), ElementsAre(-kInfinity, kInfinity, 0));
  EXPECT_THAT(run_one<float>("Tanh", {-kInfinity, kInfinity}), ElementsAre(-1, 1));
  EXPECT_THAT(run_one<float>("Erf", {-kInfinity, kInfinity}), ElementsAre(-1, 1));
  EXPECT_THAT(run_one<float>("Sigmoid", {-kInfinity, kInfinity}), ElementsAre(0, 1));
  EXPECT_THAT(run_one<float>("Softplus", {-kInfinity, kInfinity, 1e10F}), ElementsAre(0, kInfinity, 1e10F));
  for (const char* name :
       {"Exp", "Log", "Tanh", "Erf", "Sigmoid", "Softplus", "Mish", "Elu", "Gelu", "HardSwish"}) {
    EXPECT_TRUE(std::isnan(run_one<float>(name, {kNan})[0])) << name;
  }
}

// Near zero there are vectors, far from it the C library: both in one tensor, and angles between.
TEST(OwnFunctions, KnowAnglesOfEverySize) {
  std::vector<float> x{0.0F, -0.0F, 1048576.0F, -1048576.0F, 1048577.0F, 3e38F, -1e10F, 102943.7F, 355.0F};
  for (float angle = 0.01F; angle < 1e6F; angle *= 1.003F) x.push_back(angle);
  const std::vector<std::pair<const char*, double (*)(double)>> functions{{"Sin", std::sin},
                                                                          {"Cos", std::cos}};
  for (const auto& [name, exact] : functions) {
    const auto y = run_one<float>(name, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_EQ(run_one<float>(name, {x[i]})[0], y[i]) << name << " of " << x[i];
      EXPECT_NEAR(y[i], exact(x[i]), 1e-7) << name << " of " << x[i];
      EXPECT_EQ(std::signbit(y[i]), std::signbit(exact(x[i]))) << name << " of " << x[i];
    }
    EXPECT_TRUE(std::isnan(run_one<float>(name, {kInfinity})[0]));
    EXPECT_TRUE(std::isnan(run_one<float>(name, {kNan})[0]));
  }
}

TEST(Unary, GivesTheSameNumberAtEveryPlaceAndWithEveryCount) {
  for (const char* name : {"Sin", "Cos", "Exp", "Tanh", "Sigmoid", "Erf", "Gelu", "Mish", "Softplus"}) {
    const float alone = run_one<float>(name, {0.7315F})[0];
    for (const float y : run_one<float>(name, std::vector<float>(200037, 0.7315F)))
      ASSERT_EQ(y, alone) << name;
  }
}

TEST(Unary, ComputesHalvesInFloatAndRoundsOnce) {
  std::vector<float> x;
  for (int i = 0; i < 3000; ++i) x.push_back(static_cast<float>(Float16(static_cast<float>(i - 1500) / 300)));
  const auto y = run_narrow<Float16>("Exp", x);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(y[i], std::exp(x[i]), std::exp(x[i]) * 0.00049) << x[i];
  EXPECT_THAT(run_narrow<Bfloat16>("HardSwish", {-4, 0, 4}), ElementsAre(0, 0, 4));
}

TEST(Unary, TakesEmptyAndScalarTensors) {
  EXPECT_EQ(run_op("Exp", {tensor<float>({0, 3}, {})}).dims(), (Dims{0, 3}));
  EXPECT_EQ(run_op("Neg", {Tensor::scalar(2.0F)}).dims(), Dims{});
}

TEST(HardSigmoid, UsesItsAttributes) {
  EXPECT_THAT(run_one<double>("HardSigmoid", {-9, 0, 1, 9}, {{"alpha", 0.5F}, {"beta", 0.25F}}),
              ElementsAre(0, 0.25, 0.75, 1));
}

TEST(ThresholdedRelu, ExcludesTheThreshold) {
  EXPECT_THAT(run_one<float>("ThresholdedRelu", {1, 1.5F, 2.5F}, {{"alpha", 1.5F}}), ElementsAre(0, 0, 2.5F));
}

TEST(Celu, RefusesAnAlphaOfZero) { EXPECT_THROW(run_one<float>("Celu", {1}, {{"alpha", 0.0F}}), Error); }

TEST(Gelu, RefusesAnUnknownApproximation) {
  EXPECT_THROW(run_one<float>("Gelu", {1}, {{"approximate", std::string("sigmoid")}}), Error);
}

TEST(Gelu, ApproximatesByTanh) {
  const double x = -1.25;
  const double exact = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  EXPECT_NEAR(run_one<float>("Gelu", {-1.25F}, {{"approximate", std::string("tanh")}})[0], exact, 1e-7);
}

TEST(Shrink, MovesIntegersTowardsZero) {
  EXPECT_THAT(run_one<std::int16_t>("Shrink", {-4, -1, 0, 1, 4}, {{"lambd", 1.5F}, {"bias", 1.5F}}),
              ElementsAre(-2, 0, 0, 0, 2));
}

TEST(SwiGlu, GatesTheValueWithAlpha) {
  const auto y =
      run_op("SwiGLU", {tensor<float>({2}, {1, -2}), tensor<float>({2}, {3, 5})}, {{"alpha", 2.0F}});
  EXPECT_FLOAT_EQ(y.values<float>()[0], static_cast<float>(3 * sigmoid(2)));
  EXPECT_FLOAT_EQ(y.values<float>()[1], static_cast<float>(-10 * sigmoid(-4)));
}

TEST(SwiGlu, DoesNotBroadcast) {
  EXPECT_THROW(run_op("SwiGLU", {tensor<float>({2}, {1, 2}), tensor<float>({1}, {3})}), Error);
}

TEST(Clip, TakesEitherLimitAndLetsMaxWin) {
  const auto x = tensor<std::int32_t>({4}, {-5, 0, 5, 9});
  const auto two = Tensor::scalar<std::int32_t>(2);
  const auto seven = Tensor::scalar<std::int32_t>(7);
  const auto clip = [&](const Tensor& low, const Tensor& high) {
    return values<std::int32_t>(run_op("Clip", {x, low, high}));
  };
  EXPECT_THAT(clip(two, seven), ElementsAre(2, 2, 5, 7));
  EXPECT_THAT(clip({}, two), ElementsAre(-5, 0, 2, 2));
  EXPECT_THAT(clip(two, {}), ElementsAre(2, 2, 5, 9));
  EXPECT_THAT(clip({}, {}), ElementsAre(-5, 0, 5, 9));
  EXPECT_THAT(clip(seven, two), ElementsAre(2, 2, 2, 2));
}

TEST(Clip, KeepsInfinitiesWithoutLimits) {
  EXPECT_THAT(run_one<float>("Clip", {-kInfinity, kInfinity}), ElementsAre(-kInfinity, kInfinity));
}

TEST(Clip, RefusesALimitThatIsNotAScalar) {
  const auto x = tensor<float>({2}, {1, 2});
  EXPECT_THROW(run_op("Clip", {x, x}), Error);
}

TEST(IsInf, LooksForTheSignsAsked) {
  const auto x = tensor<Float16>({3}, {Float16(kInfinity), Float16(-kInfinity), Float16(1)});
  const auto found = [&](std::int64_t negative, std::int64_t positive) {
    return values<bool>(run_op("IsInf", {x}, {{"detect_negative", negative}, {"detect_positive", positive}}));
  };
  EXPECT_THAT(found(1, 1), ElementsAre(true, true, false));
  EXPECT_THAT(found(0, 1), ElementsAre(true, false, false));
  EXPECT_THAT(found(1, 0), ElementsAre(false, true, false));
}

TEST(IsNan, KnowsFloat8) {
  const auto x = tensor<ir::Float8E5M2>({2}, {ir::Float8E5M2(kNan), ir::Float8E5M2(1)});
  EXPECT_THAT(values<bool>(run_op("IsNaN", {x})), ElementsAre(true, false));
}

TEST(Not, Negates) { EXPECT_THAT(run_one<bool>("Not", {true, false}), ElementsAre(false, true)); }

TEST(BitwiseNot, FlipsEveryBit) {
  EXPECT_THAT(run_one<std::uint16_t>("BitwiseNot", {0, 5}), ElementsAre(65535, 65530));
}

TEST(QuickGelu, GatesItsInputByASteepSigmoid) {
  const auto y =
      testing::run_op_outputs("com.microsoft", "QuickGelu", {tensor<float>({3}, {-1, 0, 2})}, {}, 1);
  EXPECT_THAT(values<float>(y[0]),
              ::testing::Pointwise(::testing::FloatNear(1e-6F), {-0.15420423F, 0.0F, 1.9356586F}));
}

}  // namespace
}  // namespace podium::kernels
