// The events and memory curves from which a trace is made.
#include "executor/sim/events.h"

#include <gmock/gmock.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

std::string text(const sim::Event& event) {
  return fmt::format("{:.2f}-{:.2f} ipu {} {} {} {} bytes, flow {}", event.start / kMicro, event.end / kMicro,
                     event.processor, event.lane == sim::Lane::Io ? "io" : "compute", event.name, event.bytes,
                     event.flow);
}

std::vector<std::string> text(const sim::Timeline& timeline) {
  std::vector<std::string> lines;
  for (const sim::Event& event : timeline.events) lines.push_back(text(event));
  return lines;
}

TEST(Events, TellEveryStepOnEveryLane) {
  Sketch sketch(3, {.host = 1, .copy = 2, .tiles = 0.5});
  const Slot io = sketch.buffer("io", 0, Memory::IO);
  const Slot x = sketch.buffer("x", 0);
  const Slot a = sketch.buffer("a", 1);
  const Slot b = sketch.buffer("b", 2);
  sketch.program.steps = {sketch.from_host(io), between_tiles(io, x), copy({{x, a}, {x, b}}),
                          sketch.compute("work", 2, 3, {b}, {sketch.buffer("y", 2)})};
  const std::vector<std::string> expected{
      "0.00-1.00 ipu 0 io x 1000 bytes, flow -1",     "1.00-1.50 ipu 0 compute x 1000 bytes, flow -1",
      "1.00-1.50 ipu 0 io x 1000 bytes, flow -1",     "1.50-3.50 ipu 0 compute a, b 2000 bytes, flow 0",
      "1.50-3.50 ipu 1 compute a 1000 bytes, flow 0", "1.50-3.50 ipu 2 compute b 1000 bytes, flow 0",
      "3.50-6.50 ipu 2 compute work 0 bytes, flow -1"};
  EXPECT_EQ(text(sketch.run(SyncPattern::Full, true)), expected);
}

TEST(Events, HaveAFlowForEachSender) {
  Sketch sketch(3, {.copy = 1});
  const Slot x = sketch.filled("x", 0);
  const Slot y = sketch.filled("y", 1);
  sketch.program.steps = {copy({{x, sketch.buffer("a", 1)}, {y, sketch.buffer("b", 2)}})};
  const std::vector<std::string> expected{
      "0.00-1.00 ipu 0 compute a 1000 bytes, flow 0", "0.00-1.00 ipu 1 compute a 1000 bytes, flow 0",
      "0.00-1.00 ipu 1 compute b 1000 bytes, flow 1", "0.00-1.00 ipu 2 compute b 1000 bytes, flow 1"};
  EXPECT_EQ(text(sketch.run(SyncPattern::Full, true)), expected);
}

TEST(Events, OfRemoteTransfersAreCalledAfterTheLargestOfEachProcessor) {
  Sketch sketch(2, {.remote_load = 2});
  std::vector<executor::Transfer> transfers;
  for (const char* name : {"m", "v"})
    transfers.push_back({sketch.filled(name, 0, Memory::Streaming), sketch.buffer("here", 0)});
  transfers.push_back({sketch.filled("w", 1, Memory::Streaming), sketch.buffer("here", 1)});
  sketch.program.steps = {{executor::LoadRemote{transfers}}};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  const std::vector<std::string> expected{"0.00-2.00 ipu 0 compute m and 1 more 2000 bytes, flow -1",
                                          "0.00-2.00 ipu 1 compute w 1000 bytes, flow -1"};
  EXPECT_EQ(text(timeline), expected);
  ASSERT_EQ(timeline.path.size(), 1U);
  EXPECT_EQ(timeline.path[0].name, "m and 1 more");
  EXPECT_EQ(timeline.path[0].step_bytes, 2000);
}

TEST(Events, AreNotToldUnlessAskedFor) {
  Sketch sketch(1);
  sketch.program.steps = {sketch.compute("work", 0, 3, {}, {sketch.buffer("y", 0)})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_TRUE(timeline.events.empty());
  EXPECT_TRUE(timeline.processors[0].memory_curve.empty());
}

TEST(Events, LeaveOutIterationsThatRepeat) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  sketch.program.steps = {repeat(1'000'000, {sketch.compute("work", 0, 3, {}, {x})})};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  EXPECT_EQ(timeline.folded_iterations + std::ssize(timeline.events), 1'000'000);
  EXPECT_EQ(timeline.joined_below, 0);
}

// The folds take the time that no event covers.
TEST(Events, SayWhereIterationsAreLeftOut) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  sketch.program.steps = {repeat(1000, {sketch.compute("work", 0, 3, {}, {x})})};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  double seconds = 0;
  std::int64_t iterations = 0;
  for (const sim::FoldedTime& folded : timeline.folded) {
    seconds += folded.end - folded.start;
    iterations += folded.iterations;
  }
  for (const sim::Event& event : timeline.events) seconds += event.end - event.start;
  EXPECT_EQ(iterations, timeline.folded_iterations);
  EXPECT_NEAR(seconds, timeline.makespan, 1e-12);
}

TEST(Events, KnowWhatLetThemStart) {
  Sketch sketch(2, {.host = 1, .copy = 2});
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 1);
  sketch.program.steps = {sketch.from_host(x), copy({{x, y}}),
                          sketch.compute("short", 0, 1, {}, {sketch.buffer("z", 0)}),
                          sketch.compute("long", 1, 3, {y}, {sketch.buffer("w", 1)})};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  std::vector<std::string> lines;
  for (const sim::Event& event : timeline.events) {
    lines.push_back(fmt::format("{} after {}{}", event.name,
                                event.after < 0 ? "the call" : timeline.events[event.after].name,
                                event.on_path ? ", on the path" : ""));
  }
  EXPECT_THAT(lines,
              ::testing::ElementsAre("x after the call, on the path", "y after x, on the path",
                                     "y after x, on the path", "short after y", "long after y, on the path"));
}

// Of too many, neighbours on a lane become one, and all of the run is still there.
TEST(Events, AreJoinedWhereTheyAreTooMany) {
  Sketch sketch(2, {.copy = 1});
  const Slot x = sketch.buffer("x", 0);
  const Step shorter = sketch.compute("short", 0, 1, {}, {x});
  const Step longer = sketch.compute("long", 0, 3, {}, {x});
  for (int i = 0; i < 150'000; ++i) {
    sketch.program.steps.push_back(shorter);
    sketch.program.steps.push_back(longer);
  }
  sketch.program.steps.push_back(copy({{x, sketch.buffer("y", 1)}}));
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  EXPECT_GT(timeline.joined_below, 4 * kMicro);
  EXPECT_LT(timeline.events.size(), 200'000U);
  EXPECT_EQ(timeline.events.front().name, "long and 3 more");
  EXPECT_DOUBLE_EQ(timeline.makespan, 600'001 * kMicro);
  double seconds = 0;
  for (const sim::Event& event : timeline.events) {
    if (event.processor == 0) seconds += event.end - event.start;
    EXPECT_EQ(event.flow < 0, timeline.events.back().flow < 0 || event.activity == sim::Activity::Compute);
    EXPECT_TRUE(event.on_path);
  }
  EXPECT_NEAR(seconds, timeline.makespan, 1e-9);
}

TEST(Events, DrawTheMemoryOverTime) {
  Sketch sketch(1, {.host = 1});
  sketch.filled("weight", 0);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("work", 0, 3, {x}, {y}), sketch.to_host(y)};
  lower::plan_memory(sketch.program);
  sketch.program.blocks[0].temporary_bytes = 300;
  std::vector<std::pair<double, std::int64_t>> curve;
  const sim::Timeline timeline = sketch.clock(SyncPattern::Full, true);
  for (const sim::MemoryPoint& point : timeline.processors[0].memory_curve) {
    curve.emplace_back(std::round(point.time / kMicro), point.bytes);
  }
  const std::vector<std::pair<double, std::int64_t>> expected{{0, 2000}, {1, 3300}, {4, 2000}, {5, 1000}};
  EXPECT_EQ(curve, expected);
}

}  // namespace
}  // namespace podium::testing
