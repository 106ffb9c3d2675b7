#include "executor/numeric/schedule.h"

#include <gtest/gtest.h>

#include "tests/support/hand_made.h"

namespace podium::numeric {
namespace {

using executor::BlockId;
using executor::Compute;
using executor::CopyBetweenProcessors;
using executor::LoadFromHost;
using executor::Repeat;
using executor::Step;
using executor::StoreToHost;
using testing::HandMade;

// Enough that a thread for each block pays.
constexpr int kElements = 1 << 16;

// x and the buffers a, b, c on processors 0 and 1, with a block on each that negates.
HandMade sketch() {
  HandMade made;
  made.input("x", {kElements});
  made.output("y", {kElements});
  const std::string negates = fmt::format("g (float[{0}] x) => (float[{0}] y) {{ y = Neg(x) }}", kElements);
  for (int processor : {0, 1}) {
    for (const char* name : {"x", "a", "b", "c"}) made.buffer(name, {kElements}, processor);
    made.block(negates, processor);
  }
  return made;
}

Step load(const HandMade& made, const std::string& to) { return {.action = LoadFromHost{0, made.slot(to)}}; }
Step store(const HandMade& made, const std::string& from) {
  return {.action = StoreToHost{made.slot(from), 0}};
}
Step compute(const HandMade& made, int processor, const std::string& from, const std::string& to) {
  return {.action = Compute{BlockId{processor}, {made.slot(from, processor)}, {made.slot(to, processor)}}};
}
Step copy(const HandMade& made, const std::string& name) {
  return {.action = CopyBetweenProcessors{{{made.slot(name, 0), made.slot(name, 1)}}}};
}
Step freeing(Step step, const HandMade& made, const std::string& name, int processor = 0) {
  step.frees.push_back(made.slot(name, processor));
  return step;
}

// The places of the steps in their list, a line a wave: "0 1 | 2 3 side by side".
std::string waves_of(const Section& section) {
  std::string text;
  for (const Wave& wave : section.waves) {
    for (std::size_t move : wave.moves) text += fmt::format("{} ", move);
    text += "|";
    for (std::size_t node : wave.computes) text += fmt::format(" {}", node);
    text += wave.lanes.empty() ? "\n" : " side by side\n";
  }
  return text;
}

std::string waves_of(const HandMade& made) { return waves_of(make_schedule(made.program, 2)[0]); }

TEST(Schedule, RunsTheStagesOfACycleSideBySide) {
  HandMade made = sketch();
  made.step(
      {.action = Repeat{
           3, {load(made, "x"), compute(made, 0, "x", "a"), compute(made, 1, "a", "b"), copy(made, "a")}}});
  EXPECT_EQ(waves_of(make_schedule(made.program, 2)[0].body[0]), "0 | 1 2 side by side\n3 |\n");
}

TEST(Schedule, RunsOneAfterTheOtherWithOneThread) {
  HandMade made = sketch();
  for (const Step& step : {compute(made, 0, "x", "a"), compute(made, 1, "a", "b")}) made.step(step);
  EXPECT_EQ(waves_of(make_schedule(made.program, 1)[0]), "| 0 1\n");
}

TEST(Schedule, WaitsForWhatItReads) {
  HandMade made = sketch();
  for (const Step& step :
       {load(made, "x"), compute(made, 0, "x", "a"), copy(made, "a"), compute(made, 1, "a", "b")}) {
    made.step(step);
  }
  EXPECT_EQ(waves_of(made), "0 | 1\n2 | 3\n");
}

TEST(Schedule, WritesOnlyAfterTheLastReader) {
  HandMade made = sketch();
  for (const Step& step : {compute(made, 0, "x", "a"), load(made, "x"), compute(made, 1, "x", "b")})
    made.step(step);
  EXPECT_EQ(waves_of(made), "| 0 2 side by side\n1 |\n");
}

TEST(Schedule, FreesOnlyAfterTheLastReader) {
  HandMade made = sketch();
  for (const Step& step : {compute(made, 0, "x", "a"), freeing(store(made, "x"), made, "x")}) made.step(step);
  EXPECT_EQ(waves_of(made), "| 0\n1 |\n");
}

TEST(Schedule, RunsABlockOnceAtATime) {
  HandMade made = sketch();
  for (const Step& step : {compute(made, 0, "x", "a"), compute(made, 0, "b", "c")}) made.step(step);
  EXPECT_EQ(waves_of(made), "| 0\n| 1\n");
}

TEST(Schedule, KeepsTheOrderOfAHostStream) {
  HandMade made = sketch();
  for (const Step& step : {load(made, "a"), compute(made, 0, "a", "b"), load(made, "a"), load(made, "c")}) {
    made.step(step);
  }
  EXPECT_EQ(waves_of(made), "0 | 1\n2 3 |\n");
}

TEST(Schedule, TellsSlotsThatMoveOnAlikeApart) {
  HandMade made = sketch();
  made.program.buffers[1].slots = 2;  // a on processor 0
  Step first = compute(made, 0, "x", "a");
  std::get<Compute>(first.action).writes[0].stride = 1;
  Step other = store(made, "a");
  std::get<StoreToHost>(other.action).from = made.slot("a", 0, 1, 1);
  Step same = store(made, "a");
  std::get<StoreToHost>(same.action).from = made.slot("a", 0, 2, 1);
  made.step({.action = Repeat{2, {first, other}}});
  made.step({.action = Repeat{2, {first, same}}});
  const std::vector<Section> schedule = make_schedule(made.program, 2);
  EXPECT_EQ(waves_of(schedule[0].body[0]), "1 | 0\n");
  EXPECT_EQ(waves_of(schedule[1].body[0]), "| 0\n1 |\n");
}

TEST(Schedule, RunsUnevenWorkOneAfterTheOther) {
  HandMade made = sketch();
  std::string text = fmt::format("g (float[{0}] x) => (float[{0}] y) {{ a0 = Neg(x)\n", kElements);
  for (int i = 1; i < 10; ++i) text += fmt::format("a{} = Neg(a{})\n", i, i - 1);
  made.block(text + "y = Neg(a9) }", 1);
  Step long_one = compute(made, 1, "x", "b");
  std::get<Compute>(long_one.action).block = BlockId{2};
  for (const Step& step : {compute(made, 0, "x", "a"), long_one}) made.step(step);
  EXPECT_EQ(waves_of(made), "| 0 1\n");
}

// Threads that meet between ops lose more than those that meet between blocks.
TEST(Schedule, RunsEvenWorkSideBySideUnlessItIsTiny) {
  for (const std::int64_t size : {1000, 100'000, 10'000'000}) {
    HandMade made;
    for (int processor : {0, 1}) {
      for (const char* name : {"x", "a"}) made.buffer(name, {size}, processor);
      made.block(fmt::format("g (float[{0}] x) => (float[{0}] y) {{ y = Neg(x) }}", size), processor);
    }
    for (int processor : {0, 1}) made.step(compute(made, processor, "x", "a"));
    EXPECT_EQ(waves_of(made), size == 1000 ? "| 0 1\n" : "| 0 1 side by side\n");
  }
}

// They share its memory.
TEST(Schedule, RunsTheBlocksOfAProcessorOneAfterTheOtherBesideThoseOfOthers) {
  HandMade made = sketch();
  made.block(fmt::format("g (float[{0}] x) => (float[{0}] y) {{ y = Abs(x) }}", kElements), 0);
  Step other = compute(made, 0, "x", "c");
  std::get<Compute>(other.action).block = BlockId{2};
  for (const Step& step : {compute(made, 0, "x", "a"), other, compute(made, 1, "x", "b")}) made.step(step);
  for (const Step& step : {compute(made, 0, "a", "b"), compute(made, 1, "b", "c")}) made.step(step);
  const std::vector<Section> schedule = make_schedule(made.program, 2);
  ASSERT_EQ(schedule[0].waves.size(), 2U);
  EXPECT_TRUE(schedule[0].waves[0].lanes.empty());  // one processor has twice as much to do
  using Lanes = std::vector<std::vector<std::size_t>>;
  EXPECT_EQ(schedule[0].waves[1].lanes, (Lanes{{3}, {4}}));
  Step more = compute(made, 1, "x", "a");
  made.block(fmt::format("g (float[{0}] x) => (float[{0}] y) {{ y = Abs(x) }}", kElements), 1);
  std::get<Compute>(more.action).block = BlockId{3};
  made.step(more);
  EXPECT_EQ(make_schedule(made.program, 2)[0].waves[0].lanes, (Lanes{{0, 1}, {2, 5}}));
}

TEST(Schedule, KeepsReplicasTogetherInARepeatInWhichTheyMeet) {
  HandMade made = sketch();
  made.step({.action = Repeat{3, {load(made, "x"), compute(made, 0, "x", "a")}}});
  const Step meet{.action = executor::Collective{.transfer = {made.slot("a"), made.slot("b")}}};
  made.step(
      {.action = Repeat{2, {{.action = Repeat{3, {load(made, "x"), compute(made, 0, "x", "a"), meet}}}}}});
  const std::vector<Section> sections = make_schedule(made.program, 1);
  EXPECT_TRUE(sections[0].replicas_apart);
  EXPECT_FALSE(sections[1].replicas_apart);
  EXPECT_FALSE(sections[1].body[0].replicas_apart);
}

}  // namespace
}  // namespace podium::numeric
