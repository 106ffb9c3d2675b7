#include "executor/sim/memory_curve.h"

#include <gmock/gmock.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

std::string text(const sim::TensorLife& life) {
  return fmt::format("{} {} bytes {:.0f}-{:.0f}", life.name, life.bytes, life.start / kMicro,
                     life.end / kMicro);
}

TEST(MemoryCurve, SaysWhatMemoryIsHeldFor) {
  Sketch sketch(1, {.host = 1});
  sketch.filled("weight", 0);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("work", 0, 3, {x}, {y}), sketch.to_host(y)};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  for (const sim::MemoryPoint& point : timeline.processors[0].memory_curve) {
    std::int64_t held = 0;
    for (const std::int64_t bytes : point.held) held += bytes;
    EXPECT_EQ(held, point.bytes);
    EXPECT_EQ(point.held[static_cast<std::size_t>(sim::Holding::Weights)], 1000);
  }
}

TEST(MemoryCurve, SaysFromWhenToWhenLargeTensorsAreThere) {
  Sketch sketch(1, {.host = 1});
  sketch.filled("weight", 0);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  sketch.program.steps = {sketch.from_host(x), sketch.compute("work", 0, 3, {x}, {y}), sketch.to_host(y)};
  lower::plan_memory(sketch.program);
  sketch.program.blocks[0].temporary_bytes = 300;
  const sim::Timeline timeline = sketch.clock(SyncPattern::Full, true);
  std::vector<std::string> lines;
  for (const sim::TensorLife& life : timeline.processors[0].lives) lines.push_back(text(life));
  EXPECT_THAT(lines, ::testing::ElementsAre("weight 1000 bytes 0-5", "x 1000 bytes 0-4", "y 1000 bytes 1-5",
                                            "inside work 300 bytes 1-4"));
}

TEST(MemoryCurve, LeavesOutTensorsThatAreNeverAmongTheLargest) {
  Sketch sketch(1);
  for (int i = 0; i < 9; ++i) sketch.filled(fmt::format("weight{}", i), 0);
  const Slot small = sketch.buffer("small", 0, Memory::Compute, 1, Role::Activation, 10);
  sketch.program.steps = {sketch.compute("work", 0, 3, {}, {small})};
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  EXPECT_EQ(timeline.processors[0].lives.size(), 8U);
}

TEST(MemoryCurve, ThinnedKeepsTheHighestAndTheLastOfEqualStretches) {
  std::vector<sim::MemoryPoint> curve;
  for (int i = 0; i < 1000; ++i) curve.push_back({.time = i * 1e-3, .bytes = i == 637 ? 5000 : i % 10});
  EXPECT_EQ(sim::thinned(curve, 1, 1000).size(), 1000U);
  const auto thin = sim::thinned(curve, 1, 100);
  EXPECT_LE(thin.size(), 101U);
  EXPECT_EQ(std::ranges::max(thin, {}, &sim::MemoryPoint::bytes).time, 637 * 1e-3);
  EXPECT_EQ(thin.back().time, 0.999);
  EXPECT_TRUE(std::ranges::is_sorted(thin, {}, &sim::MemoryPoint::time));
}

// More changes than are kept, one of which is the highest.
TEST(MemoryCurve, OfManyChangesIsThinnedToTheEndOfTheStep) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  sketch.program.steps = {sketch.compute("work", 0, 3, {}, {x})};
  sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  const std::size_t before = timeline.processors[0].memory_curve.size();
  constexpr int kRuns = 1'001'000;
  sim::ChangesOfProcessors changes(1);
  for (int i = 0; i < kRuns; ++i) {
    const std::int64_t bytes = i == 700'000 ? 9000 : 100;
    for (const int part : {0, 1}) {
      changes[0].push_back(
          {.time = 2 * i + part, .change = {.buffer = x.buffer, .bytes = part == 0 ? bytes : -bytes}});
    }
  }
  timeline.makespan = sim::to_seconds(2 * kRuns);
  sim::draw_memory(sketch.program, std::move(changes), timeline);
  const auto& [curve, lives] = std::tie(timeline.processors[0].memory_curve, timeline.processors[0].lives);
  EXPECT_GT(curve.size(), before);
  EXPECT_LE(curve.size(), 2'000'001U);
  EXPECT_EQ(std::ranges::max(curve, {}, &sim::MemoryPoint::bytes).bytes, 9000);
  EXPECT_EQ(curve.back().time, sim::to_seconds(2 * kRuns - 1));
  EXPECT_LE(lives.size(), curve.size());
}

}  // namespace
}  // namespace podium::testing
