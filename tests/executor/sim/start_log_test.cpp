#include "executor/sim/start_log.h"

#include <gmock/gmock.h>

namespace podium::testing {
namespace {

using sim::kNobody;
using sim::OnPath;
using sim::StartLog;
using ::testing::ElementsAre;

TEST(StartLog, GoesBackOverWhatEachWaitedFor) {
  StartLog log;
  const auto first = log.add(0, kNobody, 2);
  log.add(1, kNobody, 2);  // ends earlier: nobody waits for it
  const auto last = log.add(2, first, 7);
  EXPECT_THAT(log.on_path({10, last}, 3), ElementsAre(OnPath{5, 1}, OnPath{}, OnPath{3, 1}));
}

// Task 0 takes 4 ticks, three times walked; the last of these is a period that comes ten times more.
TEST(StartLog, CountsAFoldedPeriodAsOftenAsItCame) {
  StartLog log;
  auto before = kNobody;
  for (int i = 0; i < 3; ++i) before = log.add(0, before, 4 * i);
  log.fold(2, 4, 10);
  const auto behind = log.add(1, before, 52);
  EXPECT_THAT(log.on_path({55, behind}, 2), ElementsAre(OnPath{52, 13}, OnPath{3, 1}));
}

// The last task ends the run before its period is over: the period reaches back into the task before.
TEST(StartLog, CountsATaskOnceForEachTimeThatItStarts) {
  StartLog log;
  auto before = kNobody;
  for (int i = 0; i < 3; ++i) before = log.add(0, before, 4 * i);
  log.fold(2, 4, 10);
  EXPECT_THAT(log.on_path({51, before}, 1), ElementsAre(OnPath{51, 13}));
}

// The way goes past a loop that nobody waited for.
TEST(StartLog, ALoopBesideTheWayCountsNothing) {
  StartLog log;
  const auto first = log.add(0, kNobody, 0);
  log.add(1, kNobody, 0);
  log.fold(1, 1, 5);
  const auto last = log.add(2, first, 20);
  EXPECT_THAT(log.on_path({30, last}, 3), ElementsAre(OnPath{20, 1}, OnPath{}, OnPath{10, 1}));
}

}  // namespace
}  // namespace podium::testing
