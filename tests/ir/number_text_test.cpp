#include "ir/number_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace podium::ir {
namespace {

TEST(NumberText, IsAllOfTheTextOrNothing) {
  EXPECT_EQ(number_of<int>("-12"), -12);
  EXPECT_EQ(number_of<double>("1e3"), 1000);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x10", "1.5", "--1"})
    EXPECT_EQ(number_of<int>(text), std::nullopt) << text;
}

TEST(NumberText, HoldsItsTypeAndItsBounds) {
  EXPECT_EQ(number_of<int>("2147483647"), 2147483647);
  EXPECT_EQ(number_of<int>("2147483648"), std::nullopt);
  EXPECT_EQ(number_of<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(number_of<double>("1e999"), std::nullopt);
  EXPECT_EQ(number_of("7", 0, 7), 7);
  EXPECT_EQ(number_of("8", 0, 7), std::nullopt);
  EXPECT_EQ(number_of("nan", 0.0, 7.0), std::nullopt);
}

TEST(NumberText, IsTakenOffTheBeginning) {
  std::string_view text = "12, 13";
  EXPECT_EQ(take_number<int>(text), 12);
  EXPECT_EQ(text, ", 13");
  EXPECT_EQ(take_number<int>(text), std::nullopt);
  EXPECT_EQ(text, ", 13");
}

TEST(NumberText, IsBeyondWhereTheTypeEnds) {
  EXPECT_TRUE(is_beyond<std::int64_t>("9223372036854775808"));
  EXPECT_FALSE(is_beyond<std::int64_t>("9223372036854775807"));
  EXPECT_TRUE(is_beyond<float>("1e39"));
  EXPECT_FALSE(is_beyond<float>("a"));
}

TEST(NumberText, RoundsToInfinityAndToZero) {
  EXPECT_EQ(rounded_number_of<double>("1e999"), INFINITY);
  EXPECT_EQ(rounded_number_of<double>("-1e999"), -INFINITY);
  EXPECT_EQ(rounded_number_of<float>("1e-99"), 0);
  EXPECT_EQ(rounded_number_of<float>("1e-99x"), std::nullopt);
  EXPECT_EQ(rounded_number_of<float>("0.5"), 0.5F);
}

}  // namespace
}  // namespace podium::ir
