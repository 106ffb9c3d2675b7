#include "executor/sim/simulate.h"

#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

using sim::Activity;
using sim::Idle;

TEST(Simulate, NamesWhatAProcessorWaitsFor) {
  Sketch sketch(2, {.copy = 1});
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Slot c = sketch.buffer("c", 1);
  sketch.program.steps = {sketch.compute("make", 0, 3, {}, {a}), copy({{a, b}}),
                          sketch.compute("use", 1, 2, {b}, {c})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 6);
  EXPECT_DOUBLE_EQ(idle(timeline.processors[1], Idle::Data), 3);
  EXPECT_DOUBLE_EQ(idle(timeline.processors[0], Idle::Sync), 2);
  EXPECT_DOUBLE_EQ(timeline.critical_path / kMicro, 6);
}

TEST(Simulate, OneLinkServesOneStepAtATime) {
  Sketch sketch(2, {.host = 3});
  sketch.shared_host_link = true;
  sketch.program.steps = {sketch.from_host(sketch.buffer("a", 0)), sketch.from_host(sketch.buffer("b", 1))};
  const sim::Timeline timeline = sketch.run(SyncPattern::SinglePipeline);
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 6);
  EXPECT_DOUBLE_EQ(idle(timeline.processors[1], Idle::Link), 3);
  ASSERT_EQ(timeline.links.size(), 1U);
  EXPECT_DOUBLE_EQ(timeline.links[0].busy / kMicro, 6);
  EXPECT_EQ(timeline.links[0].bytes, 2000);
}

TEST(Simulate, BeginsWhenTheHostHasCalled) {
  Sketch sketch(1);
  sketch.costs.call_seconds = 7 * kMicro;
  sketch.program.steps = {sketch.compute("work", 0, 1, {}, {sketch.buffer("a", 0)})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 8);
  EXPECT_DOUBLE_EQ(idle(timeline.processors[0], Idle::Io), 7);
}

TEST(Simulate, UtilisationIsWorkAgainstWhatCouldBeDone) {
  Sketch sketch(2);
  sketch.program.steps = {sketch.compute("work", 0, 4, {}, {sketch.buffer("a", 0)})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_DOUBLE_EQ(timeline.flop, 4000);
  EXPECT_DOUBLE_EQ(timeline.utilisation, 0.25);
}

}  // namespace
}  // namespace podium::testing
