#include "annotate/cut_cost.h"

#include <gtest/gtest.h>

namespace podium::annotate {
namespace {

const Box kWhole{{{0, 4}}, {{0, 6}}};
const Box kUpper{{{0, 2}}, {{0, 6}}};
const Box kLower{{{2, 4}}, {{0, 6}}};
const Box kLeft{{{0, 4}}, {{0, 3}}};
const Box kStripes{{{0, 4}}, {{0, 1}, {2, 4}}};

TEST(CutCost, BringsWhatADeviceHasNot) {
  EXPECT_EQ(elements_to_bring({kWhole, kWhole}, {kUpper, kLower}), 24);
  EXPECT_EQ(elements_to_bring({kUpper, kLower}, {kUpper, kLower}), 0);
  EXPECT_EQ(elements_to_bring({kLeft, std::nullopt}, {kUpper, kLower}), 6);
  EXPECT_EQ(elements_to_bring({kStripes}, {kLeft}), 4);
  EXPECT_EQ(elements_to_bring({std::nullopt, kUpper}, {kUpper}), 12);
}

TEST(CutCost, AddsUpAllSummandsButOne) {
  EXPECT_EQ(elements_to_add_up({kWhole, kWhole, kWhole}, 24), 48);
  EXPECT_EQ(elements_to_add_up({kUpper, kLower}, 24), 0);
}

TEST(CutCost, SharesOutWhereEachDeviceHasAPartOfItsOwn) {
  EXPECT_TRUE(shares_out({kUpper, kLower}, 24));
  EXPECT_FALSE(shares_out({kUpper, kUpper}, 24));
  EXPECT_FALSE(shares_out({kUpper, std::nullopt}, 24));
  EXPECT_FALSE(shares_out({kUpper}, 24));
}

}  // namespace
}  // namespace podium::annotate
