#include "executor/compare/differences.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/run_text.h"

namespace podium::compare {
namespace {

using testing::kInfinity;
using testing::kNan;
using testing::list;

TEST(DifferencesOfTensors, AreNoneOfTheSameBits) {
  const Differences none = differences(list<float>({1, kNan, -0.0F}), list<float>({1, kNan, -0.0F}));
  EXPECT_FALSE(none.any());
  EXPECT_EQ(none.nans, 0);
}

TEST(DifferencesOfTensors, NameTheElementThatDiffersMost) {
  const Differences found = differences(list<float>({1, 2, 3}), list<float>({1, 2.5, 2}));
  EXPECT_EQ(found.numbers, 2);
  EXPECT_EQ(found.worst, 2);
  EXPECT_EQ(found.largest, 1);
}

TEST(DifferencesOfTensors, CountTheSignsOfZerosApart) {
  const Differences found = differences(list<float>({1, -0.0F}), list<float>({1, 0}));
  EXPECT_TRUE(found.any());
  EXPECT_EQ(found.numbers, 0);
  EXPECT_EQ(found.zeros, 1);
  EXPECT_EQ(found.worst, 1);
  EXPECT_EQ(found.largest, 0);
}

TEST(DifferencesOfTensors, TakeNaNForNaNWhateverItsBitsAre) {
  const Differences found = differences(list<float>({-kNan, 1}), list<float>({kNan, 1}));
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.nans, 1);
}

TEST(DifferencesOfTensors, AreWithoutEndWhereOneIsNoNumber) {
  const Differences found = differences(list<float>({5, kNan}), list<float>({1, 1}));
  EXPECT_EQ(found.numbers, 2);
  EXPECT_EQ(found.worst, 1);
  EXPECT_TRUE(std::isinf(found.largest));
}

TEST(DifferencesOfTensors, OfWholeNumbersAreDifferences) {
  EXPECT_EQ(differences(list<std::int64_t>({1, 2}), list<std::int64_t>({1, 3})).worst, 1);
}

TEST(FirstBeyond, IsTheElementFurthestBeyondItsBound) {
  const ir::Tensor expected = list<float>({1, 1, 1});
  EXPECT_EQ(first_beyond(list<float>({1.5, 2, 1}), expected, list<double>({1, 1, 0})), -1);
  EXPECT_EQ(first_beyond(list<float>({1.5, 3, 1}), expected, list<double>({0.1, 1, 0})), 0);
}

TEST(FirstBeyond, IsWhatIsNotFiniteWhateverTheBound) {
  const ir::Tensor bounds = list<double>({1e30, 1e30});
  EXPECT_EQ(first_beyond(list<float>({1, kInfinity}), list<float>({1, 1}), bounds), 1);
  EXPECT_EQ(first_beyond(list<float>({kNan, kInfinity}), list<float>({kNan, kInfinity}), bounds), -1);
}

TEST(FirstBeyond, SaysNothingOfASumOfInfinities) {
  const ir::Tensor endless = list<double>({kInfinity, kNan, kInfinity});
  EXPECT_EQ(first_beyond(list<float>({kNan, kInfinity, 1}), list<float>({-kInfinity, kNan, 1}), endless), -1);
  EXPECT_EQ(first_beyond(list<float>({0, 1}), list<float>({0, 0}), list<double>({kInfinity, kNan})), 1)
      << "a number is expected";
}

TEST(FirstBeyond, SaysNothingWhereMagnitudesOverflow) {
  const ir::Tensor endless = list<double>({kInfinity, kInfinity});
  EXPECT_EQ(first_beyond(list<float>({kInfinity, 3e38F}), list<float>({1e37F, 2e38F}), endless), -1)
      << "3e38 + 3e38 - 6e38 is infinite from the left and a number from the right";
}

TEST(FirstBeyond, TakesTheSignOfAZeroForNoDifference) {
  EXPECT_EQ(first_beyond(list<float>({-0.0F}), list<float>({0}), list<double>({0})), -1);
}

}  // namespace
}  // namespace podium::compare
