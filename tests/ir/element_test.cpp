#include "ir/element.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace podium::ir {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class SmallFloats : public ::testing::TestWithParam<DataType> {};

int code_count(DataType type) { return 1 << bit_width(type); }

TEST_P(SmallFloats, ComeBackAsTheyWere) {
  for (int bits = 0; bits < code_count(GetParam()); ++bits) {
    const float value = small_to_float(static_cast<std::uint8_t>(bits), GetParam());
    if (std::isnan(value)) continue;
    const bool saturate = !std::isinf(value);
    EXPECT_EQ(float_to_small(value, GetParam(), saturate), bits) << value;
  }
}

// Every number between two neighbours goes to the nearer one, the middle to the one with an even code.
TEST_P(SmallFloats, RoundToTheNearestAndTiesToEven) {
  if (GetParam() == DataType::Float8E8M0) return;
  for (int bits = 0; bits + 1 < code_count(GetParam()) / 2; ++bits) {
    const float low = small_to_float(static_cast<std::uint8_t>(bits), GetParam());
    const float high = small_to_float(static_cast<std::uint8_t>(bits + 1), GetParam());
    if (!std::isfinite(high)) break;
    const float middle = (low + high) / 2;
    EXPECT_EQ(float_to_small(middle, GetParam(), true), bits + bits % 2) << middle;
    EXPECT_EQ(float_to_small(std::nextafter(middle, 0.0F), GetParam(), true), bits) << middle;
    EXPECT_EQ(float_to_small(std::nextafter(middle, kInfinity), GetParam(), true), bits + 1) << middle;
  }
}

INSTANTIATE_TEST_SUITE_P(, SmallFloats,
                         ::testing::Values(DataType::Float8E4M3FN, DataType::Float8E4M3FNUZ,
                                           DataType::Float8E5M2, DataType::Float8E5M2FNUZ,
                                           DataType::Float4E2M1, DataType::Float8E8M0, DataType::Float6E2M3,
                                           DataType::Float6E3M2),
                         [](const auto& given) { return std::string(name_of(given.param)); });

struct Edge {
  DataType type;
  float value;
  int saturated;
  int not_saturated;
};

TEST(SmallFloat, FollowsTheTableOfTheDefinition) {
  using enum DataType;
  const std::vector<Edge> edges{
      {Float8E4M3FN, -0.0F, 0x80, 0x80},       {Float8E4M3FN, kInfinity, 0x7E, 0x7F},
      {Float8E4M3FN, -kInfinity, 0xFE, 0xFF},  {Float8E4M3FN, kNan, 0x7F, 0x7F},
      {Float8E4M3FN, -1e6F, 0xFE, 0xFF},       {Float8E4M3FN, 464, 0x7E, 0x7E},
      {Float8E4M3FN, 465, 0x7E, 0x7F},         {Float8E4M3FNUZ, -0.0F, 0x00, 0x00},
      {Float8E4M3FNUZ, kInfinity, 0x7F, 0x80}, {Float8E4M3FNUZ, -1e6F, 0xFF, 0x80},
      {Float8E4M3FNUZ, kNan, 0x80, 0x80},      {Float8E4M3FNUZ, -1e-9F, 0x00, 0x00},
      {Float8E5M2, kInfinity, 0x7B, 0x7C},     {Float8E5M2, -1e9F, 0xFB, 0xFC},
      {Float8E5M2, kNan, 0x7F, 0x7F},          {Float8E5M2FNUZ, kInfinity, 0x7F, 0x80},
      {Float8E5M2FNUZ, -1e9F, 0xFF, 0x80},     {Float4E2M1, kInfinity, 0x07, 0x07},
      {Float4E2M1, -100, 0x0F, 0x0F},          {Float4E2M1, kNan, 0x08, 0x08},
      {Float6E2M3, kInfinity, 0x1F, 0x1F},     {Float6E2M3, kNan, 0x20, 0x20},
      {Float6E3M2, -100, 0x3F, 0x3F},          {Float6E3M2, -0.0F, 0x20, 0x20},
      {Float8E8M0, kInfinity, 0xFE, 0xFF},     {Float8E8M0, kNan, 0xFF, 0xFF},
      {Float8E8M0, 3e38F, 0xFE, 0xFF},
  };
  for (const Edge& edge : edges) {
    EXPECT_EQ(float_to_small(edge.value, edge.type, true), edge.saturated)
        << name_of(edge.type) << edge.value;
    EXPECT_EQ(float_to_small(edge.value, edge.type, false), edge.not_saturated)
        << name_of(edge.type) << edge.value;
  }
}

TEST(SmallFloat, HasTheLargestNumbersOfTheDefinition) {
  EXPECT_EQ(small_to_float(0x7E, DataType::Float8E4M3FN), 448);
  EXPECT_EQ(small_to_float(0x7F, DataType::Float8E4M3FNUZ), 240);
  EXPECT_EQ(small_to_float(0x7B, DataType::Float8E5M2), 57344);
  EXPECT_EQ(small_to_float(0x7F, DataType::Float8E5M2FNUZ), 57344);
  EXPECT_EQ(small_to_float(0x07, DataType::Float4E2M1), 6);
  EXPECT_EQ(small_to_float(0x1F, DataType::Float6E2M3), 7.5F);
  EXPECT_EQ(small_to_float(0x1F, DataType::Float6E3M2), 28);
  EXPECT_EQ(small_to_float(0x01, DataType::Float8E4M3FN), 0x1p-9F);
  EXPECT_EQ(small_to_float(0x01, DataType::Float8E4M3FNUZ), 0x1p-10F);
  EXPECT_EQ(small_to_float(0x01, DataType::Float8E5M2FNUZ), 0x1p-17F);
}

TEST(Power, RoundsAsAsked) {
  const auto rounded = [](float value, PowerRounding rounding) {
    return small_to_float(float_to_power(value, rounding, true), DataType::Float8E8M0);
  };
  for (float value : {5.0F, 6.0F, 7.0F}) {
    EXPECT_EQ(rounded(value, PowerRounding::Up), 8) << value;
    EXPECT_EQ(rounded(value, PowerRounding::Down), 4) << value;
  }
  EXPECT_EQ(rounded(std::nextafter(6.0F, 0.0F), PowerRounding::Nearest), 4);
  EXPECT_EQ(rounded(6, PowerRounding::Nearest), 8);
  EXPECT_EQ(rounded(-4, PowerRounding::Up), 4);
  EXPECT_EQ(rounded(0, PowerRounding::Up), 0x1p-127F);
  EXPECT_EQ(rounded(0x1p-127F, PowerRounding::Up), 0x1p-127F);
  EXPECT_EQ(rounded(0x1.8p-127F, PowerRounding::Nearest), 0x1p-126F);
  EXPECT_EQ(rounded(0x1.7p-127F, PowerRounding::Nearest), 0x1p-127F);
}

TEST(Half, ComesBackAsItWas) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = half_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(float_to_half(value), bits);
  }
  EXPECT_TRUE(std::isnan(half_to_float(float_to_half(kNan))));
}

TEST(Half, RoundsADoubleOnce) {
  const double above_middle = 1.0 + 0x1p-11 + 0x1p-40;  // as a float this is the middle
  EXPECT_EQ(double_to_half(above_middle), 0x3C01);
  EXPECT_EQ(float_to_half(static_cast<float>(above_middle)), 0x3C00);
  EXPECT_EQ(double_to_half(1e300), 0x7C00);
  EXPECT_EQ(double_to_half(-1e-300), 0x8000);
}

TEST(Bfloat16, RoundsToNearestAndKeepsNan) {
  EXPECT_EQ(Bfloat16(1.0F + 0x1p-8F).bits, 0x3F80);
  EXPECT_EQ(Bfloat16(1.0F + 0x3p-8F).bits, 0x3F82);
  EXPECT_EQ(Bfloat16(3.4e38F).bits, 0x7F80);
  EXPECT_TRUE(std::isnan(static_cast<float>(Bfloat16(std::bit_cast<float>(0x7F800001U)))));
}

TEST(SmallInt, WrapsAndExtendsTheSign) {
  EXPECT_EQ(static_cast<int>(Int4(8)), -8);
  EXPECT_EQ(static_cast<int>(Int4(-9)), 7);
  EXPECT_EQ(static_cast<int>(Uint4(-1)), 15);
  EXPECT_EQ(static_cast<int>(Int2(2)), -2);
  EXPECT_EQ(static_cast<int>(Uint2(7)), 3);
}

}  // namespace
}  // namespace podium::ir
