#include "executor/sim/waits.h"

#include <gmock/gmock.h>

namespace podium::testing {
namespace {

using sim::kNobody;
using sim::StartLog;
using sim::Waits;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

// Task 7 runs from 0 to 4, and task 8 behind it up to 10.
StartLog two_tasks() {
  StartLog log;
  log.add(8, log.add(7, kNobody, 0), 4);
  return log;
}

TEST(Waits, AreForAllThatWasBusyInTheMeantime) {
  const StartLog log = two_tasks();
  Waits waits;
  waits.note(1, 1, {10, 1}, log);
  waits.note(1, 5, {6, 1}, log);
  EXPECT_THAT(waits.by_task(3), ElementsAre(IsEmpty(), ElementsAre(Pair(7, 3), Pair(8, 7)), IsEmpty()));
}

TEST(Waits, BeforeTheFirstTaskAreForTheHostsCall) {
  StartLog log;
  log.add(7, kNobody, 20);
  Waits waits;
  waits.note(0, 0, {25, 0}, log);
  waits.note(0, 25, {26, kNobody}, log);
  EXPECT_THAT(waits.by_task(1), ElementsAre(ElementsAre(Pair(kNobody, 21), Pair(7, 5))));
}

TEST(Waits, OfARepeatedPeriodCountAsOftenAsItComes) {
  const StartLog log = two_tasks();
  Waits waits;
  waits.note(0, 0, {4, 0}, log);
  const std::size_t period = waits.size();
  waits.note(0, 4, {10, 1}, log);
  waits.repeat(period, 9);
  EXPECT_THAT(waits.by_task(1), ElementsAre(ElementsAre(Pair(7, 4), Pair(8, 60))));
}

}  // namespace
}  // namespace podium::testing
