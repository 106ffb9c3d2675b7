#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>

#include "executor/kernels/tools/broadcast_plan.h"
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
using testing::list;
using testing::run_op;
using testing::tensor;
using testing::values;

template <class T, class Out = T>
std::vector<Out> run_two(std::string_view name, const std::vector<T>& a, const std::vector<T>& b,
                         std::vector<ir::Attribute> attributes = {}) {
  return values<Out>(run_op(name, {list(a), list(b)}, std::move(attributes)));
}

Tensor counting(const Dims& dims) {
  Tensor result(ir::DataType::Float, dims);
  for (std::int64_t i = 0; i < result.size(); ++i) result.data<float>()[i] = static_cast<float>(i);
  return result;
}

// The element that an operand of shape `dims` gives to index `at` of the output.
float stretched(const Tensor& operand, const Dims& at) {
  std::int64_t offset = 0;
  for (int i = 0; i < operand.rank(); ++i) {
    const std::int64_t index = at[at.size() - static_cast<std::size_t>(operand.rank() - i)];
    offset = offset * operand.dim(i) + (operand.dim(i) == 1 ? 0 : index);
  }
  return operand.data<float>()[offset];
}

void next(Dims& at, const Dims& dims) {
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (++at[i] < dims[i]) return;
    at[i] = 0;
  }
}

TEST(Broadcasting, AgreesWithTheDefinitionInEveryPattern) {
  const std::vector<std::pair<Dims, Dims>> patterns{
      {{2, 3, 4}, {2, 3, 4}}, {{2, 3, 4}, {}},        {{}, {5}},           {{2, 3, 4}, {4}},
      {{2, 3, 4}, {3, 4}},    {{2, 3, 4}, {3, 1}},    {{3, 1}, {1, 4}},    {{2, 1, 3, 1}, {4, 1, 5}},
      {{1, 1}, {1}},          {{0, 3}, {3}},          {{2, 0, 1}, {1, 4}}, {{2, 3, 1, 5}, {2, 1, 4, 5}},
      {{7, 2}, {7, 1}},       {{1, 2, 1, 2, 1}, {2}}, {{300, 300}, {300}}, {{300, 1}, {300, 301}}};
  for (const auto& [a_dims, b_dims] : patterns) {
    const Tensor a = counting(a_dims);
    const Tensor b = counting(b_dims);
    const Tensor out = run_op("Sub", {a, b});
    const Dims dims = ir::broadcast(a_dims, b_dims);
    ASSERT_EQ(out.dims(), dims);
    Dims at(dims.size(), 0);
    for (std::int64_t i = 0; i < out.size(); ++i, next(at, dims)) {
      ASSERT_EQ(out.data<float>()[i], stretched(a, at) - stretched(b, at))
          << ir::to_string(out.type_and_dims());
    }
  }
}

TEST(Broadcasting, TakesDimensionsTogether) {
  const Dims same{2, 3, 4};
  const BroadcastPlan row = plan_broadcast(same, std::array{&same, &same});
  EXPECT_EQ(row.row, 24);
  EXPECT_EQ(row.rows, 1);
  const Dims channel{3, 1};
  const BroadcastPlan rows = plan_broadcast(same, std::array{&same, &channel});
  EXPECT_EQ(rows.row, 4);
  EXPECT_EQ(rows.rows, 6);
  EXPECT_EQ(rows.steps, (Offsets{1, 0, 0}));
}

TEST(Broadcasting, ComputesHalvesByBlocks) {
  std::vector<Float16> a(2500, Float16(1.5F));
  const Tensor sum = run_op("Add", {tensor<Float16>({2500, 1}, a), list<Float16>({Float16(1), Float16(2)})});
  for (std::int64_t i = 0; i < sum.size(); ++i) {
    ASSERT_EQ(static_cast<float>(sum.data<Float16>()[i]), i % 2 == 0 ? 2.5F : 3.5F);
  }
}

TEST(Add, WrapsIntegers) {
  EXPECT_THAT(run_two<std::int8_t>("Add", {127}, {1}), ElementsAre(-128));
  EXPECT_THAT(run_two<std::uint16_t>("Mul", {65535}, {65535}), ElementsAre(1));
  EXPECT_THAT(run_two<std::int64_t>("Sub", {std::numeric_limits<std::int64_t>::min()}, {1}),
              ElementsAre(std::numeric_limits<std::int64_t>::max()));
}

TEST(Div, TruncatesIntegersAndSurvivesEveryDivisor) {
  constexpr std::int32_t kLowest = std::numeric_limits<std::int32_t>::min();
  EXPECT_THAT(run_two<std::int32_t>("Div", {-7, 7, 5, kLowest}, {2, -2, 0, -1}),
              ElementsAre(-3, -3, 0, kLowest));
  EXPECT_THAT(run_two<std::uint8_t>("Div", {255}, {2}), ElementsAre(127));
  EXPECT_THAT(run_two<float>("Div", {1, -1}, {0, 0}), ElementsAre(kInfinity, -kInfinity));
}

TEST(Mod, FollowsTheDivisorOrTheDividend) {
  const std::vector<std::int16_t> a{-5, 5, -6, 5, 7};
  const std::vector<std::int16_t> b{3, -3, 3, 0, -1};
  EXPECT_THAT(run_two("Mod", a, b), ElementsAre(1, -1, 0, 0, 0));
  EXPECT_THAT(run_two("Mod", a, b, {{"fmod", std::int64_t{1}}}), ElementsAre(-2, 2, 0, 0, 0));
  EXPECT_THAT(run_two<float>("Mod", {-5.5F}, {3}, {{"fmod", std::int64_t{1}}}), ElementsAre(-2.5F));
}

TEST(Mod, OfFloatsHasTheSignOfTheDivisor) {
  EXPECT_THAT(run_two<float>("Mod", {-5.5F, 5.5F, 3, -3, -4}, {3, -3, kInfinity, kInfinity, 0}),
              ElementsAre(0.5F, -0.5F, 3, kInfinity, ::testing::IsNan()));
  const auto zeros = run_two<double>("Mod", {0.0, -0.0, -4}, {-2, 2, 2});
  EXPECT_THAT(zeros, ElementsAre(0, 0, 0));
  EXPECT_TRUE(std::signbit(zeros[0]));
  EXPECT_FALSE(std::signbit(zeros[1]) || std::signbit(zeros[2]));
}

TEST(PRelu, StretchesTheSlopeOnly) {
  const Tensor x = tensor<float>({2, 2}, {-1, 2, -3, 4});
  EXPECT_THAT(values<float>(run_op("PRelu", {x, list<float>({2, 10})})), ElementsAre(-2, 2, -6, 4));
  EXPECT_THROW(run_op("PRelu", {list<float>({1, 2}), x}), Error);
  EXPECT_THAT(run_two<std::int64_t>("PRelu", {-3, 3}, {2, 2}), ElementsAre(-6, 3));
}

TEST(Pow, RaisesIntegersExactly) {
  EXPECT_THAT(run_two<std::int64_t>("Pow", {3, -2, 7, 1, -1, 2}, {39, 3, 0, -5, -5, -1}),
              ElementsAre(4052555153018976267, -8, 1, 1, -1, 0));
  EXPECT_THAT(values<std::int32_t>(run_op("Pow", {list<std::int32_t>({2, 3}), list<float>({0.5F, 40})})),
              ElementsAre(1, std::numeric_limits<std::int32_t>::max()));
}

TEST(Pow, TakesTheTypeOfTheBase) {
  EXPECT_THAT(values<float>(run_op("Pow", {list<float>({-2, 4}), list<std::int64_t>({3, -1})})),
              ElementsAre(-8, 0.25));
  EXPECT_THAT(values<double>(run_op("Pow", {list<double>({9}), list<std::uint8_t>({2})})), ElementsAre(81));
  const auto halves = values<Float16>(run_op("Pow", {list<Float16>({Float16(3)}), list<double>({2.0})}));
  EXPECT_EQ(static_cast<float>(halves[0]), 9);
}

TEST(Pow, IsTheSameForOneExponentAsForMany) {
  const std::vector<float> x{-kInfinity, -2, -0.0F, 0, 0.3F, 2, kInfinity};
  for (float exponent : {-1.0F, 0.5F, 1.0F, 2.0F, 3.0F, 2.5F}) {
    const auto one = values<float>(run_op("Pow", {list(x), Tensor::scalar(exponent)}));
    const auto many = run_two<float>("Pow", x, std::vector<float>(x.size(), exponent));
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(many[i])) {
        EXPECT_TRUE(std::isnan(one[i])) << x[i] << " to the " << exponent;
      } else {
        EXPECT_FLOAT_EQ(one[i], many[i]) << x[i] << " to the " << exponent;
      }
    }
  }
}

TEST(MaxAndMin, PassNanOn) {
  for (const char* name : {"Max", "Min"}) {
    const auto y = run_two<float>(name, {kNan, 1}, {1, kNan});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << name;
  }
  EXPECT_THAT(run_two<std::uint64_t>("Max", {~0ULL, 0}, {1, 1}), ElementsAre(~0ULL, 1));
}

TEST(Variadic, TakesOneInputAndManyShapes) {
  EXPECT_THAT(values<float>(run_op("Mean", {list<float>({1, 2})})), ElementsAre(1, 2));
  const Tensor column = tensor<float>({2, 1}, {10, 20});
  const Tensor sum = run_op("Sum", {Tensor::scalar(1.0F), list<float>({1, 2, 3}), column});
  EXPECT_EQ(sum.dims(), (Dims{2, 3}));
  EXPECT_THAT(values<float>(sum), ElementsAre(12, 13, 14, 22, 23, 24));
}

TEST(Mean, RoundsHalvesOnce) {
  const auto list_of = [](float value) { return list<Float16>({Float16(value)}); };
  const auto mean = values<Float16>(run_op("Mean", {list_of(60000), list_of(60000), list_of(30000)}));
  EXPECT_EQ(static_cast<float>(mean[0]), 49984);  // 50000 lies between two halves
}

TEST(Comparisons, KnowTheOrderOfTheirOperands) {
  const std::vector<std::uint8_t> a{1, 2, 200};
  const std::vector<std::uint8_t> b{2, 2, 100};
  EXPECT_THAT((run_two<std::uint8_t, bool>("Less", a, b)), ElementsAre(true, false, false));
  EXPECT_THAT((run_two<std::uint8_t, bool>("LessOrEqual", a, b)), ElementsAre(true, true, false));
  EXPECT_THAT((run_two<std::uint8_t, bool>("Greater", a, b)), ElementsAre(false, false, true));
  EXPECT_THAT((run_two<std::uint8_t, bool>("GreaterOrEqual", a, b)), ElementsAre(false, true, true));
  const Tensor greater = run_op("Greater", {tensor<float>({2, 1}, {1, 5}), list<float>({0, 3, 9})});
  EXPECT_THAT(values<bool>(greater), ElementsAre(true, false, false, true, true, false));
}

TEST(Equal, ComparesStringsAndBooleansAndZeros) {
  const Tensor words = list<std::string>({"a", "b"});
  EXPECT_THAT(values<bool>(run_op("Equal", {words, Tensor::scalar<std::string>("b")})),
              ElementsAre(false, true));
  EXPECT_THAT(run_two<bool>("Equal", {true, false}, {true, true}), ElementsAre(true, false));
  EXPECT_THAT((run_two<float, bool>("Equal", {0.0F, kNan}, {-0.0F, kNan})), ElementsAre(true, false));
}

TEST(Logic, CombinesBooleans) {
  const std::vector<bool> a{false, false, true, true};
  const std::vector<bool> b{false, true, false, true};
  EXPECT_THAT(run_two("And", a, b), ElementsAre(false, false, false, true));
  EXPECT_THAT(run_two("Or", a, b), ElementsAre(false, true, true, true));
  EXPECT_THAT(run_two("Xor", a, b), ElementsAre(false, true, true, false));
}

TEST(BitShift, LeavesNothingBeyondTheWidth) {
  const std::vector<ir::Attribute> left{{"direction", std::string("LEFT")}};
  const std::vector<ir::Attribute> right{{"direction", std::string("RIGHT")}};
  EXPECT_THAT(run_two<std::uint8_t>("BitShift", {1, 255, 255}, {7, 4, 8}, left), ElementsAre(128, 240, 0));
  EXPECT_THAT(run_two<std::uint64_t>("BitShift", {~0ULL, 8}, {63, 64}, right), ElementsAre(1, 0));
  EXPECT_THROW(run_two<std::uint8_t>("BitShift", {1}, {1}, {{"direction", std::string("UP")}}), Error);
}

TEST(Bitwise, WorksOnSignedNumbers) {
  EXPECT_THAT(run_two<std::int16_t>("BitwiseAnd", {-1, 12}, {5, 10}), ElementsAre(5, 8));
  EXPECT_THAT(run_two<std::int16_t>("BitwiseXor", {-1, 12}, {5, 10}), ElementsAre(-6, 6));
}

TEST(Where, StretchesAllThreeAndMovesAnyType) {
  const Tensor condition = tensor<bool>({2, 1}, {true, false});
  const Tensor chosen =
      run_op("Where", {condition, list<std::string>({"x", "y"}), Tensor::scalar<std::string>("z")});
  EXPECT_THAT(values<std::string>(chosen), ElementsAre("x", "y", "z", "z"));
  using Complex = std::complex<double>;
  const Tensor numbers = run_op(
      "Where", {list<bool>({true, false}), list<Complex>({{1, 2}, {3, 4}}), list<Complex>({{5, 6}, {7, 8}})});
  EXPECT_THAT(values<Complex>(numbers), ElementsAre(Complex(1, 2), Complex(7, 8)));
}

TEST(Where, TakesScalarsOnEitherSide) {
  const Tensor condition = list<bool>({true, false, true});
  const Tensor x = list<std::int8_t>({1, 2, 3});
  const Tensor nine = Tensor::scalar<std::int8_t>(9);
  EXPECT_THAT(values<std::int8_t>(run_op("Where", {condition, x, nine})), ElementsAre(1, 9, 3));
  EXPECT_THAT(values<std::int8_t>(run_op("Where", {condition, nine, x})), ElementsAre(9, 2, 9));
  EXPECT_THAT(values<std::int8_t>(run_op("Where", {condition, nine, nine})), ElementsAre(9, 9, 9));
}

template <class T>
void expect_choice(std::int64_t count) {
  Tensor condition(ir::DataType::Bool, {count});
  Tensor x(ir::data_type_of<T>, {count});
  Tensor y(ir::data_type_of<T>, {count});
  std::vector<T> wanted;
  for (std::int64_t i = 0; i < count; ++i) {
    condition.data<bool>()[i] = i * 7919 % 11 < 5;
    x.data<T>()[i] = static_cast<T>(i % 100 + 1);
    y.data<T>()[i] = static_cast<T>(-1 - i % 100);
    wanted.push_back((condition.data<bool>()[i] ? x : y).template data<T>()[i]);
  }
  EXPECT_EQ(values<T>(run_op("Where", {condition, x, y})), wanted) << count;
}

TEST(Where, ChoosesElementByElementInRowsOfEveryLength) {
  for (std::int64_t count = 1; count < 140; ++count) {
    expect_choice<std::int8_t>(count);
    expect_choice<std::int16_t>(count);
    expect_choice<float>(count);
    expect_choice<std::int64_t>(count);
  }
}

// The bits are moved: a NaN that is not chosen leaves no trace.
TEST(Where, DoesNotComputeWithWhatItLeavesOut) {
  const Tensor all = list<float>({kNan, kInfinity, -0.0F, 1});
  const Tensor nan = Tensor::scalar<float>(kNan);
  const auto chosen = values<float>(
      run_op("Where", {list<bool>({false, false, true, true}), all, list<float>({2, 3, 4, 5})}));
  EXPECT_THAT(chosen, ElementsAre(2, 3, 0, 1));
  EXPECT_TRUE(std::signbit(chosen[2]));
  EXPECT_THAT(values<float>(run_op("Where", {list<bool>({true, true}), list<float>({6, 7}), nan})),
              ElementsAre(6, 7));
}

TEST(Binary, NamesShapesThatDoNotFit) {
  EXPECT_THROW(run_op("Add", {list<float>({1, 2}), list<float>({1, 2, 3})}), Error);
}

}  // namespace
}  // namespace podium::kernels
