#include "executor/sim/ticks.h"

#include <gtest/gtest.h>

#include "ir/error.h"

namespace podium::sim {
namespace {

TEST(Ticks, AreWholePicoseconds) {
  EXPECT_EQ(to_ticks(0), 0);
  EXPECT_EQ(to_ticks(1.5e-6), 1'500'000);
  EXPECT_EQ(to_ticks(0.4e-12), 0);
  EXPECT_EQ(to_ticks(0.6e-12), 1);
  EXPECT_EQ(to_seconds(to_ticks(2.5)), 2.5);
}

TEST(Ticks, OfMoreThanTheLongestRunAreRefused) {
  constexpr double kDay = 24 * 3600;
  EXPECT_EQ(to_ticks((kLongestRunDays - 1) * kDay), kLongestRun / kLongestRunDays * (kLongestRunDays - 1));
  EXPECT_THROW(to_ticks(kLongestRunDays * kDay), Error);
  EXPECT_THROW(to_ticks(-1), InternalError);
}

}  // namespace
}  // namespace podium::sim
