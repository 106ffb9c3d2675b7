#include "executor/numeric/thread_trial.h"

#include <gmock/gmock.h>

#include <string>

namespace podium::numeric {
namespace {

using Way = ThreadTrial::Way;
using ThreadSeconds = ThreadTrial::Seconds;

// The ways of so many runs, which take as long as `taken` says; A: all threads, 1: alone.
template <class Taken>
std::string ways_of(ThreadTrial& trial, int runs, const Taken& taken) {
  std::string ways;
  for (int i = 0; i < runs; ++i) {
    const Way way = trial.next();
    ways += way == Way::All ? 'A' : '1';
    trial.note(ThreadSeconds(taken(way, i)));
  }
  return ways;
}

double faster_alone(Way way, int /*run*/) { return way == Way::All ? 3 : 2; }
double faster_by_all(Way way, int /*run*/) { return way == Way::All ? 2 : 3; }

const std::string kFirstRuns = std::string(32, 'A') + "1111";

TEST(ThreadTrial, TriesTheOtherWayAndTakesTheFasterOne) {
  ThreadTrial alone;
  EXPECT_EQ(ways_of(alone, 40, faster_alone), kFirstRuns + "1111");
  ThreadTrial all;
  EXPECT_EQ(ways_of(all, 40, faster_by_all), kFirstRuns + "AAAA");
}

TEST(ThreadTrial, TakesAllWhereThatIsAboutAsFast) {
  ThreadTrial trial;
  const auto alike = [](Way way, int /*run*/) { return way == Way::All ? 2 : 1.98; };
  EXPECT_EQ(ways_of(trial, 40, alike), kFirstRuns + "AAAA");
}

TEST(ThreadTrial, TriesTheOtherWayAgainLater) {
  ThreadTrial trial;
  ways_of(trial, 36, faster_by_all);
  EXPECT_EQ(ways_of(trial, 208, faster_by_all), std::string(200, 'A') + "1111" + std::string(4, 'A'));
}

TEST(ThreadTrial, ChangesWhenTheOtherWayHasBecomeFaster) {
  ThreadTrial trial;
  ways_of(trial, 36, faster_by_all);
  EXPECT_EQ(ways_of(trial, 208, faster_alone), std::string(200, 'A') + std::string(8, '1'));
}

TEST(ThreadTrial, TheFirstRunOfAWayDoesNotCount) {
  ThreadTrial trial;
  const auto lucky = [](Way way, int run) { return run == 32 ? 1 : faster_by_all(way, run); };
  EXPECT_EQ(ways_of(trial, 40, lucky), kFirstRuns + "AAAA");
}

TEST(ThreadTrial, SlowRunsDoNotCount) {
  ThreadTrial trial;
  const auto held_up = [](Way way, int run) { return run < 20 ? 100 : faster_by_all(way, run); };
  EXPECT_EQ(ways_of(trial, 40, held_up), kFirstRuns + "AAAA");
}

}  // namespace
}  // namespace podium::numeric
