#include "executor/sim/tasks.h"

#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

// "0:1000 2:1000" for each lane and its bytes.
std::string lanes(const sim::Task& task) {
  std::string text;
  for (const sim::LaneUse& use : task.lanes)
    text += fmt::format("{}{}:{}", text.empty() ? "" : " ", use.number(), use.bytes);
  return text;
}

TEST(Tasks, KeepTheLanesOfBothEndsBusy) {
  Sketch sketch(3, {.copy = 2});
  const Slot x = sketch.buffer("x", 0);
  sketch.program.steps = {copy({{x, sketch.buffer("a", 1)}, {x, sketch.buffer("b", 2)}}),
                          between_tiles(x, sketch.buffer("io", 0, Memory::IO))};
  const sim::Tasks tasks = sketch.tasks();
  ASSERT_EQ(tasks.tasks.size(), 2U);
  EXPECT_EQ(lanes(tasks.tasks[0]), "0:2000 2:1000 4:1000");
  EXPECT_EQ(tasks.tasks[0].activity, sim::Activity::Exchange);
  EXPECT_EQ(tasks.tasks[0].ticks, sim::to_ticks(2 * kMicro));
  EXPECT_EQ(tasks.tasks[0].sent, 2000);
  EXPECT_EQ(tasks.tasks[0].received, 2000);
  EXPECT_EQ(lanes(tasks.tasks[1]), "0:1000 1:1000");
}

TEST(Tasks, SendBesideComputesWhereProcessorsDoNotWaitForEachOther) {
  Sketch sketch(3, {.copy = 2});
  sketch.costs.synchronous = false;
  const Slot x = sketch.buffer("x", 0);
  const Slot a = sketch.buffer("a", 1);
  sketch.program.steps = {copy({{x, a}}), copy({{x, a}, {x, sketch.buffer("b", 2)}})};
  const sim::Tasks tasks = sketch.tasks();
  EXPECT_EQ(lanes(tasks.tasks[0]), "1:1000 3:1000");
  EXPECT_EQ(lanes(tasks.tasks[1]), "0:2000 2:1000 4:1000");
}

// Bit 0: compute lanes of even processors; bit 2: those of odd ones.
TEST(Tasks, HoldTheSyncGroupOfThePattern) {
  Sketch sketch(2);
  sketch.program.steps = {sketch.from_host(sketch.buffer("x", 1))};
  const auto held = [&](SyncPattern sync) { return sketch.tasks(sync).tasks[0].barriers; };
  EXPECT_EQ(held(SyncPattern::Full), 0b0101);
  EXPECT_EQ(held(SyncPattern::ReplicaAndLadder), 0b0100);
  EXPECT_EQ(held(SyncPattern::SinglePipeline), 0);
  sketch.costs.synchronous = false;
  EXPECT_EQ(held(SyncPattern::Full), 0);
}

TEST(Tasks, NumberTheSlotsOfAllBuffersThrough) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0, Memory::Compute, 2);
  const Slot ring = sketch.buffer("ring", 0, Memory::Compute, 3);
  sketch.program.steps = {sketch.compute("work", 0, 1, {entry(x, 1)}, {entry(ring, 2, 1)})};
  const sim::Tasks tasks = sketch.tasks();
  EXPECT_EQ(tasks.slots, 5);
  EXPECT_EQ(tasks.tasks[0].reads[0].number(7), 1);
  const sim::SlotUse& write = tasks.tasks[0].writes[0];
  EXPECT_EQ(write.buffer, ring.buffer);
  EXPECT_EQ(write.number(0), 4);
  EXPECT_EQ(write.number(1), 2);
  EXPECT_EQ(write.number(4), 2);
}

TEST(Tasks, OfARepeatAreALoop) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  sketch.program.steps = {sketch.from_host(x),
                          repeat(5, {sketch.compute("work", 0, 1, {x}, {sketch.buffer("y", 0)})})};
  const sim::Tasks tasks = sketch.tasks();
  ASSERT_EQ(tasks.items.size(), 2U);
  EXPECT_GE(tasks.items[0].task, 0);
  ASSERT_EQ(tasks.items[1].loop, 0);
  EXPECT_EQ(tasks.loops[0].count, 5);
  EXPECT_EQ(tasks.loops[0].items.size(), 1U);
}

TEST(Tasks, KnowWhenAnOutputMoves) {
  Sketch sketch(1);
  sketch.program.steps = {sketch.to_host(sketch.filled("y", 0), 3, 2)};
  const sim::Tasks tasks = sketch.tasks();
  ASSERT_EQ(tasks.outputs.size(), 1U);
  EXPECT_EQ(tasks.outputs[0].quiet, 4);
  EXPECT_EQ(tasks.outputs[0].period, 6);
  EXPECT_EQ(tasks.tasks[0].output, 0);
}

// Two gradients of a block of ten microseconds, the second of which is made early.
struct EarlySketch : Sketch {
  EarlySketch() : Sketch(1, {.collective = 5}) {
    costs.synchronous = false;
    costs.early_collectives = true;
    const Slot first = buffer("first", 0);
    const Slot second = buffer("second", 0);
    program.steps.push_back(compute("backward", 0, 10, {}, {first, second}));
    costs.blocks[executor::BlockId{0}].early_seconds = {2 * kMicro, 8 * kMicro};
    for (const Slot& slot : {first, second})
      program.steps.push_back({executor::Collective{.transfer = {slot, slot}}});
  }
};

TEST(EarlyCollectives, BeginWhenWhatTheyReadIsMade) {
  EarlySketch sketch;
  EXPECT_NEAR(sketch.run().makespan, 13 * kMicro, 1e-12);  // 2 to 7, and 8 to 13
  EarlySketch late;
  late.costs.early_collectives = false;
  EXPECT_NEAR(late.run().makespan, 20 * kMicro, 1e-12);
}

TEST(EarlyCollectives, NeverMakeAChainThatIsLongerThanTheRun) {
  EarlySketch sketch;
  const sim::Timeline timeline = sketch.run();
  EXPECT_LE(timeline.critical_path, timeline.makespan);
}

// The second gradient does not wait for the gather of what the first one updates.
TEST(EarlyCollectives, ComeBeforeStepsThatHaveNothingToDoWithThem) {
  const auto makespan = [](bool early) {
    EarlySketch sketch;
    sketch.costs.early_collectives = early;
    const Slot part = sketch.buffer("part", 0);
    const Slot updated = sketch.buffer("updated", 0);
    const Step second = sketch.program.steps.back();
    sketch.program.steps.back() = sketch.compute("update", 0, 1, {Slot{executor::BufferId{0}}}, {part});
    sketch.program.steps.push_back(
        {executor::Collective{.kind = executor::CollectiveKind::AllGather, .transfer = {part, updated}}});
    sketch.program.steps.push_back(second);
    return sketch.run().makespan;
  };
  EXPECT_NEAR(makespan(true), 19 * kMicro,
              1e-12);  // sums from 2 and 8, the update from 13, the gather from 14
  EXPECT_NEAR(makespan(false), 26 * kMicro, 1e-12);  // a sum from 10, the update from 15, the gather from 16
}

// Of runs that follow each other one gathers while the next one computes.
TEST(EarlyCollectives, GatherWeightsBesideTheNextRun) {
  EarlySketch sketch;
  const Slot weight = sketch.filled("weight", 0);
  const Slot part = sketch.buffer("part", 0);
  sketch.program.steps.pop_back();
  sketch.program.steps.push_back(sketch.compute("update", 0, 1, {Slot{executor::BufferId{0}}}, {part}));
  sketch.program.steps.push_back(
      {executor::Collective{.kind = executor::CollectiveKind::AllGather, .transfer = {part, weight}}});
  EXPECT_NEAR(sketch.run().makespan, 14 * kMicro,
              1e-12);  // the gather from 0, the sum from 8, the update from 13
}

// What goes from processor to processor passes what replicas exchange.
TEST(Tasks, SendBesideCollectives) {
  Sketch sketch(2, {.copy = 1, .collective = 5});
  sketch.costs.synchronous = false;
  const Slot weight = sketch.filled("weight", 0);
  const Slot sent = sketch.filled("sent", 0);
  const Slot received = sketch.buffer("received", 1);
  const Slot made = sketch.buffer("made", 1);
  sketch.program.steps = {{executor::Collective{.transfer = {weight, weight}}},
                          {executor::CopyBetweenProcessors{.transfers = {{sent, received}}}},
                          sketch.compute("next", 1, 5, {received}, {made})};
  EXPECT_NEAR(sketch.run().makespan, 6 * kMicro, 1e-12);
}

// What computes read is there when the block has ended.
TEST(EarlyCollectives, AreNoReasonToComputeSooner) {
  EarlySketch sketch;
  const Slot updated = sketch.buffer("updated", 0);
  const Slot second{executor::BufferId{1}};
  sketch.program.steps.push_back(sketch.compute("update", 0, 1, {second}, {updated}));
  EXPECT_NEAR(sketch.run().makespan, 13 * kMicro, 1e-12);  // behind the reduction that ends at 7: 10 to 11
}

// The sum of two reductions waits for the first of them.
TEST(EarlyCollectives, KeepTheirOrderWhereOneReadsWhatAnotherWrites) {
  EarlySketch sketch;
  const Slot part = sketch.buffer("part", 0);
  sketch.program.steps.pop_back();
  sketch.program.steps.back() = {executor::Collective{.kind = executor::CollectiveKind::ReduceScatter,
                                                      .transfer = {{executor::BufferId{0}}, part}}};
  sketch.program.steps.push_back({executor::Collective{.transfer = {part, part}}});
  EXPECT_NEAR(sketch.run().makespan, 18 * kMicro, 1e-12);
}

}  // namespace
}  // namespace podium::testing
