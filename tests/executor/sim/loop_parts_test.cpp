#include "executor/sim/loop_parts.h"

#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

// The parts of the loop that is the whole program.
std::vector<sim::LoopPart> parts_of_loop(Sketch& sketch, Steps body, SyncPattern sync = SyncPattern::Full) {
  sketch.program.steps = {repeat(10, std::move(body))};
  const sim::Tasks tasks = sketch.tasks(sync);
  const sim::Loop& loop = tasks.loops[tasks.items[0].loop];
  return parts_of(tasks, loop.items, loop.count);
}

Step work_on(Sketch& sketch, int processor) {
  return sketch.compute("work", processor, 1, {}, {sketch.buffer("y", processor)});
}

TEST(LoopParts, AreApartWhereProcessorsShareNothing) {
  Sketch sketch(2);
  const std::vector<sim::LoopPart> parts =
      parts_of_loop(sketch, {work_on(sketch, 0), work_on(sketch, 1), work_on(sketch, 0)});
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].items.size(), 2U);
  EXPECT_EQ(parts[0].lanes, std::vector<int>{0});
  EXPECT_EQ(parts[1].lanes, std::vector<int>{2});
}

TEST(LoopParts, AreOneWhereProcessorsExchange) {
  Sketch sketch(2);
  const Slot x = sketch.filled("x", 0);
  const Step exchange = copy({{x, sketch.buffer("a", 1)}});
  EXPECT_EQ(parts_of_loop(sketch, {work_on(sketch, 0), work_on(sketch, 1), exchange}).size(), 1U);
}

TEST(LoopParts, AreOneWhereAStepHoldsTheOthersLane) {
  Sketch sketch(2);
  const Step from_host = sketch.from_host(sketch.buffer("x", 0));
  const Step work = work_on(sketch, 1);
  EXPECT_EQ(parts_of_loop(sketch, {from_host, work}).size(), 1U);
  EXPECT_EQ(parts_of_loop(sketch, {from_host, work}, SyncPattern::SinglePipeline).size(), 2U);
}

TEST(LoopParts, KnowHowSlotsGoRound) {
  Sketch sketch(1);
  const Slot alike = sketch.buffer("alike", 0, Memory::Compute, 3);
  const Slot mixed = sketch.buffer("mixed", 0, Memory::Compute, 4);
  const std::vector<sim::LoopPart> parts =
      parts_of_loop(sketch, {sketch.compute("fill", 0, 1, {}, {entry(alike, 0, 1), entry(mixed, 0, 1)}),
                             sketch.compute("use", 0, 1, {entry(alike, 0, 1), entry(mixed, 0)}, {})});
  ASSERT_EQ(parts.size(), 1U);
  ASSERT_EQ(parts[0].rings.size(), 2U);
  EXPECT_EQ(parts[0].rings[0].stride, 1);
  EXPECT_EQ(parts[0].rings[0].turn, 1);
  EXPECT_EQ(parts[0].rings[1].stride, 0);
  EXPECT_EQ(parts[0].rings[1].turn, 4);
  EXPECT_EQ(parts[0].rings[0].starts, (std::vector<int>{0}));
  EXPECT_TRUE(parts[0].rings[1].starts.empty()) << "strides differ";
}

// The loop has ten iterations.
TEST(LoopParts, KnowTheSlotsThatALoopComesTo) {
  Sketch sketch(1);
  const Slot up = sketch.buffer("up", 0, Memory::Compute, 100);
  const Slot down = sketch.buffer("down", 0, Memory::Compute, 100);
  const Slot still = sketch.buffer("still", 0, Memory::Compute, 100);
  const Slot around = sketch.buffer("around", 0, Memory::Compute, 100);
  const std::vector<sim::LoopPart> parts = parts_of_loop(
      sketch, {sketch.compute("use", 0, 1, {entry(up, 20, 1), entry(up, 22, 1), entry(around, 95, 1)},
                              {entry(down, 50, -2), entry(still, 7)})});
  ASSERT_EQ(parts.size(), 1U);
  const std::vector<sim::Ring>& rings = parts[0].rings;
  ASSERT_EQ(rings.size(), 4U);
  EXPECT_EQ(rings[0].first, 20);
  EXPECT_EQ(rings[0].slots, 12);
  EXPECT_EQ(rings[1].first, 100 + 32);
  EXPECT_EQ(rings[1].slots, 19);
  EXPECT_EQ(rings[2].first, 200 + 7);
  EXPECT_EQ(rings[2].slots, 1);
  EXPECT_EQ(rings[3].first, 300);
  EXPECT_EQ(rings[3].slots, 100) << "what goes round comes to all of them";
  EXPECT_EQ(parts[0].slots, 12 + 19 + 1 + 100);
  EXPECT_EQ(rings[0].starts, (std::vector<int>{0, 2}));
  EXPECT_EQ(rings[1].starts, (std::vector<int>{18}));
  EXPECT_EQ(rings[3].starts, (std::vector<int>{95}));
}

TEST(LoopParts, ComeToAllThatAnInnerLoopComesTo) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0, Memory::Compute, 100);
  const Step inner = repeat(5, {sketch.compute("use", 0, 1, {}, {entry(x, 30, 1)})});
  const sim::Ring ring = parts_of_loop(sketch, {inner})[0].rings[0];
  EXPECT_EQ(ring.first, 30);
  EXPECT_EQ(ring.slots, 5);
  EXPECT_EQ(ring.stride, 0);
}

}  // namespace
}  // namespace podium::testing
