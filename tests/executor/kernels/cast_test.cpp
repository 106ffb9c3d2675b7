#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ir/error.h"
#include "tests/support/run_op.h"
#include "tests/support/run_text.h"

namespace podium::kernels {
namespace {

using ir::DataType;
using ir::Tensor;
using ::testing::ElementsAre;
using testing::kInfinity;
using testing::kNan;
using testing::list;
using testing::run_op;
using testing::tensor;
using testing::values;

Tensor cast(const Tensor& x, DataType to, std::vector<ir::Attribute> attributes = {}) {
  attributes.push_back({"to", static_cast<std::int64_t>(to)});
  return run_op("Cast", {x}, std::move(attributes));
}

template <class To, class From>
std::vector<To> cast_to(const std::vector<From>& numbers) {
  return values<To>(cast(list(numbers), ir::data_type_of<To>));
}

TEST(Cast, ReachesEveryTypeFromEveryTypeAndBack) {
  const Tensor numbers = list<float>({0, 1});
  for (int from = 1; from < ir::kDataTypeCount; ++from) {
    for (int to = 1; to < ir::kDataTypeCount; ++to) {
      const auto a = static_cast<DataType>(from);
      const auto b = static_cast<DataType>(to);
      // float8e8m0 has no 0, and a string of a bool is not a number of every type.
      if (ir::is_complex(a) || ir::is_complex(b) || a == DataType::Float8E8M0 || b == DataType::Float8E8M0)
        continue;
      if ((a == DataType::Bool && b == DataType::String) || (b == DataType::Bool && a == DataType::String))
        continue;
      const Tensor back = cast(cast(cast(numbers, a), b), DataType::Float);
      EXPECT_THAT(values<float>(back), ElementsAre(0, 1)) << name_of(a) << " to " << name_of(b);
    }
  }
}

TEST(Cast, TruncatesFloatsTowardsZero) {
  EXPECT_THAT((cast_to<std::int32_t, float>({-1.9F, 1.9F, -0.5F})), ElementsAre(-1, 1, 0));
  EXPECT_THAT((cast_to<std::int64_t, double>({-9.99e15, 4503599627370497.0})),
              ElementsAre(-9990000000000000, 4503599627370497));
  EXPECT_THAT((cast_to<std::uint64_t, double>({1.8e19, 3.7})), ElementsAre(18000000000000000000ULL, 3));
}

TEST(Cast, SurvivesWhatDoesNotFitAnInteger) {
  constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
  EXPECT_THAT((cast_to<std::int32_t, float>({kNan, 3e9F, -kInfinity})),
              ElementsAre(kLowest, kLowest, kLowest));
  EXPECT_THAT((cast_to<std::uint8_t, float>({300, -1})), ElementsAre(44, 255));
}

TEST(Cast, KeepsTheLowBitsOfIntegers) {
  EXPECT_THAT((cast_to<std::int8_t, std::int16_t>({200, -129})), ElementsAre(-56, 127));
  EXPECT_THAT((cast_to<std::uint32_t, std::int64_t>({-1, (1LL << 32) + 5})), ElementsAre(4294967295U, 5));
  EXPECT_THAT((cast_to<std::uint64_t, std::int8_t>({-1})), ElementsAre(~0ULL));
  EXPECT_EQ((cast_to<ir::Int4, std::int32_t>({9}))[0].value, -7);
}

TEST(Cast, MakesEverythingButZeroTrue) {
  EXPECT_THAT((cast_to<bool, float>({0, -0.0F, 0.25F, kNan})), ElementsAre(false, false, true, true));
  EXPECT_THAT((cast_to<bool, std::uint64_t>({0, 1ULL << 63})), ElementsAre(false, true));
}

TEST(Cast, RoundsToNarrowFloatsOnce) {
  const double above_middle = 1.0 + 0x1p-11 + 0x1p-40;
  EXPECT_EQ((cast_to<ir::Float16, double>({above_middle}))[0].bits, 0x3C01);
  EXPECT_EQ((cast_to<ir::Bfloat16, std::int64_t>({(1LL << 62) + (1LL << 54) + 1}))[0].bits, 0x5E81);
  EXPECT_EQ((cast_to<ir::Bfloat16, std::int64_t>({-(1LL << 62) - (1LL << 54)}))[0].bits, 0xDE80);
  EXPECT_EQ((cast_to<ir::Float16, std::uint64_t>({~0ULL}))[0].bits, 0x7C00);
}

TEST(Cast, ConvertsLongTensorsByBlocks) {
  std::vector<double> numbers(70001);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i) / 4;
  const auto halves = cast_to<ir::Bfloat16, double>(numbers);
  const auto ints = cast_to<std::int32_t, double>(numbers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    ASSERT_EQ(halves[i].bits, ir::Bfloat16(static_cast<float>(numbers[i])).bits);
    ASSERT_EQ(ints[i], static_cast<int>(i / 4));
  }
}

TEST(Cast, SaturatesFloat8OnlyWhenAsked) {
  const Tensor x = list<float>({1e6F, -kInfinity});
  const auto bits = [&](std::int64_t saturate) {
    const auto y = values<ir::Float8E4M3FNUZ>(cast(x, DataType::Float8E4M3FNUZ, {{"saturate", saturate}}));
    return std::vector<int>{y[0].bits, y[1].bits};
  };
  EXPECT_THAT(bits(1), ElementsAre(0x7F, 0xFF));
  EXPECT_THAT(bits(0), ElementsAre(0x80, 0x80));
}

TEST(Cast, RoundsPowersOfTwoAsAsked) {
  const auto one = [](const char* mode) {
    const Tensor y = cast(list<float>({5}), DataType::Float8E8M0, {{"round_mode", std::string(mode)}});
    return static_cast<float>(values<ir::Float8E8M0>(y)[0]);
  };
  EXPECT_EQ(one("up"), 8);
  EXPECT_EQ(one("down"), 4);
  EXPECT_EQ(one("nearest"), 4);
  EXPECT_THROW(one("odd"), Error);
}

TEST(Cast, PrintsNumbersAsNumpyDoes) {
  EXPECT_THAT((cast_to<std::string, float>(
                  {0, -0.0F, 1, 0.1F, 1e-5F, 123456789.0F, 1e16F, -2.5e20F, 0.0001F, kNan, -kInfinity})),
              ElementsAre("0.0", "-0.0", "1.0", "0.1", "1e-05", "123456790.0", "1e+16", "-2.5e+20", "0.0001",
                          "nan", "-inf"));
  EXPECT_THAT((cast_to<std::string, double>({0.1, 1e15, 100.25})),
              ElementsAre("0.1", "1000000000000000.0", "100.25"));
  EXPECT_THAT((cast_to<std::string, ir::Float16>({ir::Float16(0.1F)})), ElementsAre("0.1"));
  EXPECT_THAT((cast_to<std::string, std::int8_t>({-7})), ElementsAre("-7"));
  EXPECT_THAT((cast_to<std::string, bool>({true})), ElementsAre("True"));
}

TEST(Cast, ReadsTheNumbersOfText) {
  EXPECT_THAT((cast_to<float, std::string>({"3.14", " 1E8 ", "-1e-5", "+2", "1e-50", "1e50"})),
              ElementsAre(3.14F, 1e8F, -1e-5F, 2, 0, kInfinity));
  EXPECT_THAT((cast_to<double, std::string>({"+INF", "-inf", "Infinity"})),
              ElementsAre(INFINITY, -INFINITY, INFINITY));
  EXPECT_TRUE(std::isnan(cast_to<float, std::string>({"NaN"})[0]));
  EXPECT_THAT((cast_to<std::int64_t, std::string>({"9223372036854775807", "100.5", "-3"})),
              ElementsAre(9223372036854775807, 100, -3));
  EXPECT_THAT((cast_to<std::uint64_t, std::string>({"18446744073709551615"})), ElementsAre(~0ULL));
  EXPECT_THAT((cast_to<bool, std::string>({"True", "false", "0", "2"})),
              ElementsAre(true, false, false, true));
}

TEST(Cast, RefusesTextThatIsNotANumber) {
  for (const char* text : {"", "Hello World!", "1.5x", "+-1", "0x10"}) {
    EXPECT_THROW((cast_to<float, std::string>({text})), Error) << text;
  }
}

TEST(Cast, RefusesTypesThatThereAreNot) {
  EXPECT_THROW(run_op("Cast", {list<float>({1})}, {{"to", std::int64_t{99}}}), Error);
  EXPECT_THROW(cast(list<float>({1}), DataType::Complex64), Error);
}

TEST(CastLike, TakesTheTypeOfItsSecondInput) {
  const Tensor y = run_op("CastLike", {list<float>({1.5F}), tensor<std::int16_t>({0}, {})});
  EXPECT_THAT(values<std::int16_t>(y), ElementsAre(1));
}

Tensor bit_cast(const Tensor& x, DataType to) {
  return run_op("BitCast", {x}, {{"to", static_cast<std::int64_t>(to)}});
}

TEST(BitCast, KeepsTheBits) {
  EXPECT_THAT(values<std::uint32_t>(bit_cast(list<float>({1, -0.0F}), DataType::Uint32)),
              ElementsAre(0x3F800000, 0x80000000));
  EXPECT_THAT(values<double>(bit_cast(list<std::int64_t>({0x4008000000000000}), DataType::Double)),
              ElementsAre(3));
}

TEST(BitCast, KnowsWhereTheSignOfShortIntegersIs) {
  const Tensor x = list<ir::Int4>({ir::Int4(-1), ir::Int4(5)});
  const Tensor unsigned_x = bit_cast(x, DataType::Uint4);
  EXPECT_EQ(static_cast<int>(values<ir::Uint4>(unsigned_x)[0]), 15);
  EXPECT_EQ(static_cast<int>(values<ir::Int4>(bit_cast(unsigned_x, DataType::Int4))[0]), -1);
  EXPECT_EQ(static_cast<float>(values<ir::Float4E2M1>(bit_cast(x, DataType::Float4E2M1))[0]), -6);
}

TEST(BitCast, NeedsEqualWidths) { EXPECT_THROW(bit_cast(list<float>({1}), DataType::Int64), Error); }

TEST(Cast, RoundsToSixBitFloats) {
  const auto through = [](std::int64_t type) {
    const Tensor six = run_op("Cast", {tensor<float>({4}, {1.06F, -3.3F, 0.01F, 100})}, {{"to", type}});
    return values<float>(run_op("Cast", {six}, {{"to", std::int64_t{1}}}));
  };
  EXPECT_THAT(through(27), ElementsAre(1.0F, -3.25F, 0.0F, 7.5F));
  EXPECT_THAT(through(28), ElementsAre(1.0F, -3.5F, 0.0F, 28.0F));
}

}  // namespace
}  // namespace podium::kernels
