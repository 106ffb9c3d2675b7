#include "executor/compare/results.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

namespace podium::compare {
namespace {

using ::testing::HasSubstr;

ir::Datum matrix(std::vector<float> values) {
  ir::Tensor tensor(ir::DataType::Float, {2, static_cast<std::int64_t>(values.size()) / 2});
  std::copy(values.begin(), values.end(), tensor.values<float>().begin());
  return tensor;
}

TEST(CompareResults, SayHowManyDifferAndWhereTheMost) {
  const Comparison found = compare_results(matrix({1, 2, 3, 4, 9, 6}), matrix({1, 2.5F, 3, 4, 5, 8}), {});
  EXPECT_EQ(found.differing, 3);
  EXPECT_EQ(found.largest_error, 4);
  EXPECT_EQ(found.largest_number, 8);
  EXPECT_FALSE(found.is_rounding);
  EXPECT_EQ(
      found.reason,
      "3 of 6 elements differ, most at [1,1]: 9 found, 5 expected; error 4, 0.5 of the largest number there (8)");
}

TEST(CompareResults, TellRoundingByTheLargestNumber) {
  const Comparison found = compare_results(matrix({1e-7F, 600}), matrix({2.1e-7F, 600}), {.absolute = 1e-9});
  EXPECT_TRUE(found.is_rounding);
  EXPECT_THAT(found.reason, HasSubstr("looks like rounding (--tolerance-of-largest 1e-09 takes it)"));
  EXPECT_TRUE(compare_results(matrix({1e-7F, 600}), matrix({2.1e-7F, 600}), {.of_largest = 1e-9}).agrees());
}

TEST(CompareResults, WhatIsNoNumberIsFarthestAway) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Comparison found = compare_results(matrix({1, nan, 9, 4}), matrix({1, 2, 3, 4}), {});
  EXPECT_THAT(found.reason, HasSubstr("2 of 4 elements differ, most at [0,1]: nan found, 2 expected"));
  EXPECT_FALSE(found.is_rounding);
  EXPECT_TRUE(compare_results(matrix({1, nan}), matrix({1, nan}), {}).agrees());
}

}  // namespace
}  // namespace podium::compare
