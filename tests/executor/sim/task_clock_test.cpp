#include "executor/sim/task_clock.h"

#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

using sim::TaskClock;

constexpr sim::Ticks kTick = 1'000'000;  // a microsecond

TEST(TaskClock, StartsATaskWhenItsLanesAndItsDataAreThere) {
  Sketch sketch(2, {.copy = 1});
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  sketch.program.steps = {sketch.compute("first", 0, 2, {}, {a}), copy({{a, b}}),
                          sketch.compute("second", 1, 3, {b}, {sketch.buffer("y", 1)})};
  const sim::Tasks tasks = sketch.tasks();
  TaskClock clock(tasks, 0);
  std::string spans;
  for (const sim::Task& task : tasks.tasks) {
    const sim::Span span = clock.run(task, 0);
    spans += fmt::format("{}-{} ", span.start / kTick, span.end / kTick);
  }
  EXPECT_EQ(spans, "0-2 2-3 3-6 ");
  EXPECT_EQ(clock.finish(), 6 * kTick);
  EXPECT_EQ(clock.critical_path, 6 * kTick);
  for (const sim::Tally& tally : clock.tallies) {
    sim::Ticks all = 0;
    for (sim::Ticks ticks : tally.busy) all += ticks;
    for (sim::Ticks ticks : tally.idle) all += ticks;
    EXPECT_EQ(all, 6 * kTick);
  }
}

TEST(TaskClock, CountsTheHostsCallAsWaiting) {
  Sketch sketch(1);
  const sim::Tasks tasks = sketch.tasks();
  TaskClock clock(tasks, 5 * kTick);
  EXPECT_EQ(clock.finish(), 5 * kTick);
  EXPECT_EQ(clock.tallies[0].idle[static_cast<std::size_t>(sim::Idle::Io)], 5 * kTick);
}

TEST(TaskClock, RunsAStoreThatMovesNothingInNoTime) {
  Sketch sketch(1, {.host = 1});
  sketch.program.steps = {sketch.to_host(sketch.filled("y", 0), 2)};
  const sim::Tasks tasks = sketch.tasks();
  TaskClock clock(tasks, 0);
  EXPECT_EQ(clock.run(tasks.tasks[0], 0).end, 0);
  EXPECT_EQ(clock.run(tasks.tasks[0], 1).end, kTick);
}

TEST(Tally, RepeatsWhatWasDoneSince) {
  sim::Tally then;
  then.busy[0] = 2;
  then.sent = 10;
  sim::Tally now = then;
  now.busy[0] = 5;
  now.sent = 11;
  now.repeat_since(then, 3);
  EXPECT_EQ(now.busy[0], 5 + 3 * 3);
  EXPECT_EQ(now.sent, 11 + 3);
}

}  // namespace
}  // namespace podium::testing
