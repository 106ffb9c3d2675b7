#include "executor/numeric/patient_threads.h"

#include <gmock/gmock.h>

namespace podium::numeric {
namespace {

using std::chrono::milliseconds;
using ::testing::Eq;
using ::testing::Optional;

// Of a thread that has run for a second before.
ProcessorTime time_of(int running, int ready) {
  return {.running = milliseconds(1000 + running), .ready = milliseconds(ready)};
}

TEST(OthersWatch, SaysNothingOfWhatWasBeforeItsFirstReading) {
  OthersWatch watch;
  EXPECT_THAT(watch.judge(time_of(100, 900)), Eq(std::nullopt));
  EXPECT_THAT(watch.judge(time_of(120, 900)), Optional(false));
}

TEST(OthersWatch, FindsOthersFromATenthOfTheTimeOn) {
  OthersWatch watch;
  watch.judge(time_of(0, 0));
  EXPECT_THAT(watch.judge(time_of(91, 9)), Optional(false));
  EXPECT_THAT(watch.judge(time_of(181, 19)), Optional(true));
}

TEST(OthersWatch, WaitsUntilTheThreadHadFiveMilliseconds) {
  OthersWatch watch;
  watch.judge(time_of(0, 0));
  EXPECT_THAT(watch.judge(time_of(1, 3)), Eq(std::nullopt));
  EXPECT_THAT(watch.judge(time_of(2, 3)), Optional(true)) << "both stretches together are judged";
}

TEST(OthersWatch, TakesOthersForGrantedWhereTheKernelDoesNotCount) {
  OthersWatch watch;
  EXPECT_THAT(watch.judge({}), Optional(true));
  EXPECT_THAT(watch.judge({}), Optional(true));
}

TEST(OthersWatch, ForgetsOthersThatHaveGone) {
  OthersWatch watch;
  watch.judge(time_of(0, 0));
  EXPECT_THAT(watch.judge(time_of(10, 10)), Optional(true));
  EXPECT_THAT(watch.judge(time_of(30, 10)), Optional(false));
}

}  // namespace
}  // namespace podium::numeric
