#include "executor/sim/start_log.h"

#include <gmock/gmock.h>

namespace podium::testing {
namespace {

using sim::kNobody;
using sim::StartLog;
using ::testing::ElementsAre;

TEST(StartLog, GoesBackOverWhatEachWaitedFor) {
  StartLog log;
  const auto first = log.add(0, kNobody, 2);
  log.add(1, kNobody, 2);  // ends earlier: nobody waits for it
  const auto last = log.add(2, first, 7);
  EXPECT_THAT(log.ticks_on_path({10, last}, 3), ElementsAre(5, 0, 3));
}

// Task 0 takes 4 ticks, three times walked; the last of these is a period that comes ten times more.
TEST(StartLog, CountsAFoldedPeriodAsOftenAsItCame) {
  StartLog log;
  auto before = kNobody;
  for (int i = 0; i < 3; ++i) before = log.add(0, before, 4 * i);
  log.fold(2, 4, 10);
  const auto behind = log.add(1, before, 52);
  EXPECT_THAT(log.ticks_on_path({55, behind}, 2), ElementsAre(52, 3));
}

// The way goes past a loop that nobody waited for.
TEST(StartLog, ALoopBesideTheWayCountsNothing) {
  StartLog log;
  const auto first = log.add(0, kNobody, 0);
  log.add(1, kNobody, 0);
  log.fold(1, 1, 5);
  const auto last = log.add(2, first, 20);
  EXPECT_THAT(log.ticks_on_path({30, last}, 3), ElementsAre(20, 0, 10));
}

}  // namespace
}  // namespace podium::testing
