#include "executor/sim/walk.h"

#include <gtest/gtest.h>

#include <random>

#include "executor/lower/draft/cycle.h"
#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

constexpr sim::Ticks kMicroTicks = 1'000'000;

TEST(Walk, RunsEachStepOnce) {
  Sketch sketch(1);
  const Step work = sketch.compute("work", 0, 3, {}, {sketch.buffer("y", 0)});
  sketch.program.steps = {work, work};
  const sim::Tasks tasks = sketch.tasks();
  sim::TaskClock clock(tasks, 0);
  EXPECT_EQ(sim::walk(tasks, clock, nullptr), 0);
  EXPECT_EQ(clock.lanes[0], 6 * kMicroTicks);
}

TEST(Walk, MultipliesTheSteadyStateOfALoop) {
  Sketch sketch(1);
  sketch.program.steps = {repeat(1000, {sketch.compute("work", 0, 3, {}, {sketch.buffer("y", 0)})})};
  const sim::Tasks tasks = sketch.tasks();
  sim::TaskClock clock(tasks, 0);
  EXPECT_GT(sim::walk(tasks, clock, nullptr), 900);
  EXPECT_EQ(clock.lanes[0], 3000 * kMicroTicks);
}

TEST(Walk, DoesNotLookForTheSteadyStateOfManySlotsInFewSteps) {
  Sketch sketch(1);
  const Slot around = sketch.buffer("y", 0, Memory::Compute, 1000);
  sketch.program.steps = {repeat(20, {sketch.compute("work", 0, 3, {}, {entry(around, 990, 1)})})};
  const sim::Tasks tasks = sketch.tasks();
  sim::TaskClock clock(tasks, 0);
  EXPECT_EQ(sim::walk(tasks, clock, nullptr), 0);
  EXPECT_EQ(clock.lanes[0], 60 * kMicroTicks);
}

// A pipeline there and back: stage s of the way back reads what stage s of the way there has made.
class ThereAndBack : public Sketch {
 public:
  ThereAndBack(int stages, int micro_batches, std::mt19937& dice)
      : Sketch(stages, {.host = part(dice), .copy = part(dice)}), micro_batches_(micro_batches) {
    lower::Beat beat;
    std::vector<Slot> there;
    for (int s = 0; s < stages; ++s) {
      const Slot in = buffer("in", s, Memory::Compute, 1, Role::Activation, 100 + 10 * s);
      if (s == 0) beat.steps.push_back({0, from_host(in)});
      if (s > 0) beat.exchange.push_back({s - 1, {there.back(), in}});
      there.push_back(buffer("there", s, Memory::Compute, 1, Role::Activation, 110 + 10 * s));
      beat.steps.push_back({s, compute("there", s, part(dice), {in}, {there.back()})});
    }
    Slot back = there.back();
    for (int s = stages - 1; s >= 0; --s) {
      const int offset = 2 * stages - 1 - s;
      const Slot made = buffer("back", s, Memory::Compute, 1, Role::Activation, 50);
      Slot in = back;
      if (s + 1 < stages) {
        in = buffer("back in", s, Memory::Compute, 1, Role::Activation, 50);
        beat.exchange.push_back({offset - 1, {back, in}});
      }
      beat.steps.push_back({offset, compute("back", s, part(dice), {in, there[s]}, {made})});
      back = made;
    }
    beat.steps.push_back({2 * stages - 1, to_host(back)});
    cycle_ = {std::move(beat)};
  }

  sim::Timeline run_filled(int longest_fill) {
    Sketch copy = *this;
    copy.program.steps = lower::unroll(
        copy.program, cycle_, {.count = 2, .micro_batches = micro_batches_, .longest_fill = longest_fill});
    return copy.run(SyncPattern::Full, true);
  }

 private:
  static double part(std::mt19937& dice) { return static_cast<double>(dice() % 8); }

  int micro_batches_;
  lower::Cycle cycle_;
};

TEST(Walk, TakesTheTimeOfAFillThatIsWrittenOutWhereItIsALoop) {
  std::mt19937 dice(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int stages = 1 + static_cast<int>(dice() % 6);
    const int micro_batches = 1 + static_cast<int>(dice() % 30);
    ThereAndBack pipeline(stages, micro_batches, dice);
    const sim::Timeline written = pipeline.run_filled(64);
    const sim::Timeline looped = pipeline.run_filled(0);
    SCOPED_TRACE(fmt::format("{} stages, {} micro-batches", stages, micro_batches));
    EXPECT_EQ(looped.makespan, written.makespan);
    EXPECT_EQ(looped.critical_path, written.critical_path);
    EXPECT_EQ(looped.first_output, written.first_output);
    EXPECT_EQ(looped.bytes_sent, written.bytes_sent);
    EXPECT_DOUBLE_EQ(looped.flop, written.flop);
    for (int s = 0; s < stages; ++s) {
      const sim::ProcessorReport& one = looped.processors[s];
      const sim::ProcessorReport& other = written.processors[s];
      EXPECT_EQ(one.busy, other.busy);
      EXPECT_EQ(one.idle, other.idle);
      EXPECT_EQ(one.memory.peak_data, other.memory.peak_data);
      EXPECT_EQ(one.memory.stashes, other.memory.stashes);
    }
  }
}

TEST(Walk, TellsTheEventsOfWhatItWalks) {
  Sketch sketch(1);
  const Step work = sketch.compute("work", 0, 3, {}, {sketch.buffer("y", 0)});
  sketch.program.steps = {work, work};
  lower::plan_memory(sketch.program);
  const sim::Tasks tasks = sketch.tasks();
  sim::TaskClock clock(tasks, 0);
  sim::Events events(sketch.program);
  sim::walk(tasks, clock, &events);
  sim::Timeline timeline;
  timeline.processors.resize(1);
  events.put_into(timeline, clock.log, clock.finish());
  EXPECT_EQ(timeline.events.size(), 2U);
}

}  // namespace
}  // namespace podium::testing
