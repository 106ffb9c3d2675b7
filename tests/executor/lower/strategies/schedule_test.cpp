// When stages compute, and how deep their stashes are.
#include "executor/lower/strategies/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace podium::lower {
namespace {

using ::testing::ElementsAre;

TEST(Schedule, InLockstepAStageIsACycleBehindTheOneBeforeIt) {
  EXPECT_EQ(lockstep().beats, 1);
  EXPECT_EQ(lockstep().at(3, 7), (Moment{.cycle = 3}));
}

TEST(Schedule, InLockstepStashesWaitForBothWays) {
  EXPECT_THAT(stash_depths(lockstep(), 4, 100), ElementsAre(7, 5, 3, 1));
  EXPECT_THAT(stash_depths(lockstep(), 4, 4), ElementsAre(4, 4, 3, 1));
}

}  // namespace
}  // namespace podium::lower
