#include "executor/sim/overlap.h"

#include <gtest/gtest.h>

namespace podium::sim {
namespace {

TEST(Overlap, IsTheTimeInWhichBothLanesWork) {
  Overlap overlap{.compute = {{0, 10, 10}}, .io = {{4, 6, 2}}};
  EXPECT_EQ(overlap.meet(10, 6), 2);
  EXPECT_EQ(overlap.meet(10, 6), 0);  // told before
  overlap.io.push_back({8, 12, 4});
  EXPECT_EQ(overlap.meet(10, 12), 2);
  EXPECT_TRUE(overlap.compute.empty());
}

TEST(Overlap, OfIntervalsThatOnlyTouchIsNothing) {
  Overlap overlap{.compute = {{0, 2, 2}}, .io = {{2, 5, 3}}};
  EXPECT_EQ(overlap.meet(2, 5), 0);
}

// Half of the time the lane works, and it is not known when.
TEST(Overlap, OfAnIntervalThatIsPartlyBusyIsItsShare) {
  Overlap overlap{.compute = {{0, 10, 5}}, .io = {{0, 4, 4}}};
  EXPECT_EQ(overlap.meet(10, 4), 2);
}

TEST(Overlap, ForgetsWhatNoLaterIntervalMeets) {
  Overlap overlap{.compute = {{0, 3, 3}, {5, 9, 4}}};
  EXPECT_EQ(overlap.meet(9, 4), 0);
  EXPECT_EQ(overlap.compute, (std::deque<Interval>{{5, 9, 4}}));
}

}  // namespace
}  // namespace podium::sim
