// A loop whose steady state is multiplied gives what the same steps give when every one is walked.
#include "executor/sim/steady_state.h"

#include <gtest/gtest.h>

#include <random>

#include "executor/lower/program/join_remote_transfers.h"
#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

// The steps without a Repeat.
Steps unrolled(const executor::Program& program, const Steps& steps, int iteration = 0) {
  const auto place = [&](Slot& slot) {
    slot.index = (slot.index + slot.stride * iteration) % program[slot.buffer].slots;
    slot.stride = 0;
  };
  Steps flat;
  for (Step step : steps) {
    if (const auto* loop = std::get_if<executor::Repeat>(&step.action)) {
      for (int i = 0; i < loop->count; ++i) {
        for (Step& inner : unrolled(program, loop->body, i)) flat.push_back(std::move(inner));
      }
      continue;
    }
    std::visit(
        [&]<class Action>(Action& action) {
          if constexpr (std::is_same_v<Action, executor::Compute>) {
            for (Slot& slot : action.reads) place(slot);
            for (Slot& slot : action.writes) place(slot);
          } else if constexpr (std::is_same_v<Action, executor::LoadFromHost>) {
            place(action.to);
          } else if constexpr (std::is_same_v<Action, executor::StoreToHost>) {
            place(action.from);
          } else if constexpr (requires { action.transfers; }) {
            for (executor::Transfer& one : action.transfers) {
              place(one.from);
              place(one.to);
            }
          } else if constexpr (!std::is_same_v<Action, executor::Repeat>) {
            place(action.transfer.from);
            place(action.transfer.to);
          }
        },
        step.action);
    flat.push_back(std::move(step));
  }
  return flat;
}

void expect_same(const sim::Timeline& folded, const sim::Timeline& walked, bool by_chance) {
  EXPECT_DOUBLE_EQ(folded.makespan, walked.makespan);
  if (!by_chance) {
    EXPECT_DOUBLE_EQ(folded.critical_path, walked.critical_path);
  }
  EXPECT_DOUBLE_EQ(folded.flop, walked.flop);
  EXPECT_EQ(folded.bytes_sent, walked.bytes_sent);
  ASSERT_EQ(folded.processors.size(), walked.processors.size());
  for (std::size_t i = 0; i < folded.processors.size(); ++i) {
    EXPECT_EQ(folded.processors[i].busy, walked.processors[i].busy);
    EXPECT_EQ(folded.processors[i].idle, walked.processors[i].idle);
    EXPECT_EQ(folded.processors[i].io_busy, walked.processors[i].io_busy);
    EXPECT_EQ(folded.processors[i].bytes, walked.processors[i].bytes);
    EXPECT_NEAR(folded.processors[i].overlapped, walked.processors[i].overlapped,
                1e-12 + (by_chance ? 0.05 * walked.makespan : 0));
  }
  ASSERT_EQ(folded.links.size(), walked.links.size());
  for (std::size_t i = 0; i < folded.links.size(); ++i) {
    EXPECT_EQ(folded.links[i].bytes, walked.links[i].bytes);
    EXPECT_DOUBLE_EQ(folded.links[i].busy, walked.links[i].busy);
  }
}

// Runs a sketch as it is and without its loops. Returns how many iterations were not walked. Loops made by
// chance may carry data round their slots in ways that make chains an estimate, and have lanes that nothing
// ties together, whose overlap is an estimate.
std::int64_t compare(Sketch& sketch, SyncPattern sync = SyncPattern::Full, bool by_chance = false) {
  const sim::Timeline folded = sketch.run(sync);
  sketch.program.steps = unrolled(sketch.program, sketch.program.steps);
  const sim::Timeline walked = sketch.run(sync);
  EXPECT_EQ(walked.folded_iterations, 0);
  expect_same(folded, walked, by_chance);
  return folded.folded_iterations;
}

TEST(LoopState, GoesOnFromAnIterationThatLeavesWhatItFound) {
  Sketch sketch(1);
  sketch.program.steps = {repeat(10, {sketch.compute("work", 0, 3, {}, {sketch.buffer("y", 0)})})};
  const sim::Tasks tasks = sketch.tasks();
  sim::TaskClock clock(tasks, 0);
  const sim::LoopPart& part = tasks.loops[0].parts[0];
  const sim::LoopState before(part, clock, 0, sim::LoopStart(part, clock, 0), 1);
  clock.run(tasks.tasks[0], 0);
  ASSERT_TRUE(before.same_as_now(1));
  EXPECT_EQ(before.times_more(tasks, 9), 9);
  before.repeat(1, 9);
  EXPECT_EQ(clock.lanes[0], sim::to_ticks(30 * kMicro));
  EXPECT_EQ(clock.tallies[0].busy[static_cast<std::size_t>(sim::Activity::Compute)],
            sim::to_ticks(30 * kMicro));
}

TEST(SteadyState, OneProcessorRepeatsAtOnce) {
  Sketch sketch(1, {.host = 0.5});
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Step work = sketch.compute("work", 0, 3, {x}, {y});
  sketch.program.steps = {repeat(50, {sketch.from_host(x), work, sketch.to_host(y)})};
  EXPECT_GE(compare(sketch), 40);
}

TEST(SteadyState, AStashIsSeenFromTheIterationThatUsesIt) {
  Sketch sketch(2, {.host = 0.5, .copy = 0.25});
  const Slot stash = sketch.buffer("stash", 0, Memory::Compute, 5, Role::Stash);
  const Slot x = sketch.buffer("x", 0);
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Slot y = sketch.buffer("y", 1);
  const Step begin = sketch.from_host(x);
  Steps& steps = sketch.program.steps;
  for (int i = 0; i < 4; ++i) {
    steps.push_back(begin);
    steps.push_back(sketch.compute("fill", 0, 1, {x}, {entry(stash, i)}));
  }
  steps.push_back(repeat(60, {begin, sketch.compute("keep", 0, 1, {x}, {entry(stash, 4, 1)}),
                              sketch.compute("use", 0, 1.5, {entry(stash, 0, 1)}, {a}), copy({{a, b}}),
                              sketch.compute("next", 1, 2, {b}, {y})}));
  EXPECT_GE(compare(sketch), 50);
}

// A loop of one processor fills a stash of many slots and a second one, of another processor, reads it, from
// either end: of the slots those alone are looked at that some iterations have come to.
TEST(SteadyState, LoopsThatGoThroughManySlotsAreFolded) {
  std::mt19937 dice(7);
  for (int trial = 0; trial < 60; ++trial) {
    Sketch sketch(2, {.copy = static_cast<double>(dice() % 4)});
    constexpr int kSlots = 400;
    const int around = static_cast<int>(dice() % 2) * 390;  // whether the stash goes round
    const Slot stash = sketch.buffer("stash", 0, Memory::Compute, kSlots);
    const Slot there = sketch.buffer("there", 1, Memory::Compute, kSlots);
    const Slot sum = sketch.filled("sum", 1);
    Step fill = sketch.compute("fill", 0, 1 + dice() % 5, {}, {entry(stash, around, 1)});
    Step more = sketch.compute("more", 0, dice() % 3, {entry(stash, around, 1)}, {entry(stash, around, 1)});
    Step send = copy({{entry(stash, around, 1), entry(there, around, 1)}});
    const bool is_backwards = dice() % 2 == 0 && around == 0;
    const Slot read = is_backwards ? entry(there, 299, -1) : entry(there, around, 1);
    Step use = sketch.compute("use", 1, 1 + dice() % 5, {read, sum}, {sum});
    sketch.program.steps = {repeat(300, {fill, more, send}), repeat(300, {use})};
    SCOPED_TRACE(trial);
    EXPECT_GE(compare(sketch), 400);
  }
}

TEST(LoopStart, KnowsWhichSlotsAreNotAtRest) {
  Sketch sketch(1);
  const Slot ring = sketch.buffer("ring", 0, Memory::Compute, 100);
  sketch.program.steps = {repeat(50, {sketch.compute("fill", 0, 1, {}, {entry(ring, 95, 1)})})};
  const sim::Tasks tasks = sketch.tasks();
  sim::TaskClock clock(tasks, 0);
  clock.lanes[0] = {20};
  clock.slots[7] = {.ready = 30, .free = 30};
  clock.slots[8] = {.ready = 20, .free = 20};
  const sim::LoopStart start(tasks.loops[0].parts[0], clock, 2);
  const sim::RingSlots moving = start.moving_slots(0, 6);
  EXPECT_FALSE(moving.all);
  EXPECT_EQ(moving.some, (std::vector<int>{0, 7, 97, 98, 99}));
  EXPECT_TRUE(start.moving_slots(0, 200).all);
}

TEST(SteadyState, StoresThatMoveNowAndThenMoveAsOften) {
  for (int every : {1, 2, 3, 7, 50, 100}) {
    for (int slices : {1, 4}) {
      Sketch sketch(2, {.host = 0.5, .copy = 0.25});
      const Slot x = sketch.buffer("x", 0);
      const Slot y = sketch.buffer("y", 0);
      const Step work = sketch.compute("work", 0, 3, {x}, {y});
      sketch.program.steps = {repeat(100, {sketch.from_host(x), work, sketch.to_host(y, every, slices)})};
      EXPECT_GT(compare(sketch), 20) << every << " " << slices;
    }
  }
}

TEST(SteadyState, ProcessorsThatShareNothingGoAtTheirOwnPace) {
  Sketch sketch(3);
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Step slow = sketch.compute("slow", 0, 3, {}, {a});
  const Step fast = sketch.compute("fast", 1, 1, {}, {b});
  sketch.program.steps = {repeat(40, {slow, fast})};
  EXPECT_GE(compare(sketch), 60);
}

TEST(SteadyState, LoopsInLoops) {
  Sketch sketch(2, {.host = 0.5, .copy = 0.25});
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Slot z = sketch.buffer("z", 1);
  const Slot kept = sketch.filled("kept", 1);
  const Step work = sketch.compute("work", 0, 3, {x}, {y});
  const Step update = sketch.compute("update", 1, 5, {z, kept}, {kept});
  sketch.program.steps = {
      repeat(20, {repeat(30, {sketch.from_host(x), work, copy({{y, z}}), update}), sketch.to_host(kept, 4)})};
  EXPECT_GE(compare(sketch, SyncPattern::SinglePipeline), 30);
}

TEST(SteadyState, ALaneLeftAloneByTheLoopWorksBesideIt) {
  Sketch sketch(1, {.remote_load = 7});
  const Slot stored = sketch.filled("stored", 0, Memory::Streaming);
  const Slot io = sketch.buffer("io", 0, Memory::IO);
  const Slot a = sketch.buffer("a", 0);
  sketch.program.steps = {repeat(40, {sketch.compute("work", 0, 1, {}, {a})}), load(stored, io)};
  const sim::Timeline timeline = sketch.run();
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 40);
  EXPECT_DOUBLE_EQ(timeline.processors[0].overlapped / kMicro, 7);
}

TEST(SteadyState, AMillionIterationsCostAsMuchAsAFew) {
  Sketch sketch(4, {.host = 0.5, .copy = 0.25});
  std::vector<Slot> slots;
  Steps body;
  for (int p = 0; p < 4; ++p) {
    slots.push_back(sketch.buffer(fmt::format("x{}", p), p));
    body.push_back(p == 0 ? sketch.from_host(slots[0]) : copy({{slots[slots.size() - 2], slots.back()}}));
    slots.push_back(sketch.buffer(fmt::format("y{}", p), p));
    body.push_back(sketch.compute("work", p, 1, {slots[slots.size() - 2]}, {slots.back()}));
  }
  body.push_back(sketch.to_host(slots.back(), 1000));
  sketch.program.steps = {repeat(1'000'000, body)};
  const sim::Timeline timeline = sketch.run();
  EXPECT_GT(timeline.folded_iterations, 990'000);  // a few are walked around each store
  EXPECT_DOUBLE_EQ(timeline.makespan, 1e6 * (0.5 + 4 + 3 * 0.25) * kMicro + 1000 * 0.5 * kMicro);
}

// The chain of data grows every second or third iteration.
TEST(SteadyState, ChainsThatGoRoundSlotsGrowAsOftenAsTheyPassThem) {
  for (int slots : {2, 3}) {
    Sketch sketch(1);
    const Slot ring = sketch.filled("ring", 0, Memory::Compute, slots);
    sketch.program.steps = {
        repeat(1200, {sketch.compute("work", 0, 1, {entry(ring, 0, 1)}, {entry(ring, 0, 1)})})};
    const sim::Timeline timeline = sketch.run();
    EXPECT_GT(timeline.folded_iterations, 900);
    EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 1200);
    EXPECT_NEAR(timeline.critical_path / kMicro, 1200.0 / slots, 12);
  }
}

TEST(SteadyState, ARunOfMonthsIsRefused) {
  Sketch sketch(1);
  const Slot a = sketch.buffer("a", 0);
  sketch.program.steps = {repeat(1'000'000, {sketch.compute("work", 0, 1e7, {}, {a})})};
  EXPECT_THROW(sketch.run(), Error);
}

// Loops made by chance: over lanes, processors, slots and sync patterns.
class ChanceLoop {
 public:
  explicit ChanceLoop(unsigned seed) : random_(seed) {}

  Sketch make() {
    const int processors = 1 + pick(3);
    Sketch sketch(processors, {.host = tenths(),
                               .copy = tenths(),
                               .tiles = tenths(),
                               .remote_load = tenths(),
                               .remote_store = tenths()});
    sketch.shared_host_link = pick(2) == 0;
    sketch.costs.synchronous = pick(4) != 0;
    std::vector<Slot> compute;
    std::vector<Slot> io;
    std::vector<Slot> stored;
    for (int p = 0; p < processors; ++p) {
      compute.push_back(sketch.filled(fmt::format("c{}", p), p, Memory::Compute, 1 + pick(4)));
      io.push_back(sketch.filled(fmt::format("i{}", p), p, Memory::IO, 1 + pick(2)));
      stored.push_back(sketch.filled(fmt::format("s{}", p), p, Memory::Streaming, 1 + pick(3)));
    }
    const auto any = [&](const std::vector<Slot>& of, int p) {
      const Slot slot = of[p];
      return entry(slot, pick(sketch.program[slot.buffer].slots), pick(2));
    };
    const auto step = [&]() -> Step {
      const int p = pick(processors);
      switch (pick(processors > 1 ? 9 : 8)) {
        case 0:
          return sketch.from_host(any(pick(2) == 0 ? compute : io, p));
        case 1:
          return sketch.to_host(any(pick(2) == 0 ? compute : io, p), 1 + pick(4));
        case 2:
          return between_tiles(any(io, p), any(compute, p));
        case 3:
          return between_tiles(any(compute, p), any(io, p));
        case 4:
          return load(any(stored, p), any(pick(2) == 0 ? compute : io, p));
        case 5:
          return store(any(pick(2) == 0 ? compute : io, p), any(stored, p));
        case 8:
          return copy({{any(compute, p), any(compute, (p + 1) % processors)}});
        default:
          return sketch.compute("work", p, tenths(), {any(compute, p)}, {any(compute, p)});
      }
    };
    Steps body;
    for (int i = 1 + pick(7); i > 0; --i) body.push_back(step());
    if (pick(3) == 0) body.push_back(repeat(1 + pick(6), {step(), step()}));
    for (int i = pick(3); i > 0; --i) sketch.program.steps.push_back(step());
    sketch.program.steps.push_back(repeat(30 + pick(90), std::move(body)));
    for (int i = pick(3); i > 0; --i) sketch.program.steps.push_back(step());
    return sketch;
  }

  int pick(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

 private:
  double tenths() { return 0.1 * (1 + pick(30)); }

  std::mt19937 random_;
};

TEST(SteadyState, LoopsMadeByChance) {
  std::int64_t folded = 0;
  for (unsigned seed = 0; seed < 1000 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    ChanceLoop chance(seed);
    Sketch sketch = chance.make();
    const SyncPattern sync = std::vector{SyncPattern::Full, SyncPattern::SinglePipeline,
                                         SyncPattern::ReplicaAndLadder}[chance.pick(3)];
    if (chance.pick(2) == 0) lower::join_remote_transfers(sketch.program, sync);
    folded += compare(sketch, sync, true);
  }
  EXPECT_GT(folded, 1000 * 20);
}

}  // namespace
}  // namespace podium::testing
