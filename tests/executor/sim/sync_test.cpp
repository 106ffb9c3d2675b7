// Who waits for whom: sync groups, lanes, links.
#include <gtest/gtest.h>

#include "tests/executor/sim/sketch.h"

namespace podium::testing {
namespace {

using sim::Activity;
using sim::Idle;

// Two processors take turns, phase by phase, and each loads its next weights while the other computes.
Sketch ping_pong(int phases) {
  Sketch sketch(2, {.copy = 0.1, .remote_load = 1});
  std::vector<Slot> stored;
  std::vector<Slot> weights;
  std::vector<Slot> values{sketch.buffer("x", 0)};
  Steps& steps = sketch.program.steps;
  for (int p = 0; p < phases; ++p) {
    stored.push_back(sketch.filled(fmt::format("stored{}", p), p % 2, Memory::Streaming));
    weights.push_back(sketch.buffer(fmt::format("weight{}", p), p % 2));
  }
  const auto at = [](int number) { return static_cast<std::size_t>(number); };
  steps.push_back(sketch.from_host(values[0]));
  steps.push_back(load(stored[0], weights[0]));
  for (int p = 0; p < phases; ++p) {
    if (p + 1 < phases) steps.push_back(load(stored[at(p + 1)], weights[at(p + 1)]));
    const Slot made = sketch.buffer(fmt::format("y{}", p), p % 2);
    steps.push_back(
        sketch.compute(fmt::format("phase{}", p), p % 2, 1, {values.back(), weights[at(p)]}, {made}));
    if (p + 1 == phases) break;
    values.push_back(sketch.buffer(fmt::format("x{}", p + 1), (p + 1) % 2));
    steps.push_back(copy({{made, values.back()}}));
  }
  return sketch;
}

TEST(SyncPattern, FullStopsTheOtherProcessorsForARemoteLoad) {
  const sim::Timeline timeline = ping_pong(8).run(SyncPattern::Full);
  EXPECT_NEAR(timeline.makespan / kMicro, 8 * 1 + 8 * 1 + 7 * 0.1, 1e-6);
  EXPECT_NEAR(idle(timeline.processors[0], Idle::Sync), 4 * 1 + 1, 1e-6);
}

TEST(SyncPattern, ReplicaAndLadderLoadsBesideTheOtherHalf) {
  const sim::Timeline full = ping_pong(8).run(SyncPattern::Full);
  const sim::Timeline ladder = ping_pong(8).run(SyncPattern::ReplicaAndLadder);
  EXPECT_NEAR(ladder.makespan / kMicro, 1 + 8 * 1 + 7 * 0.1, 1e-6);
  EXPECT_LT(ladder.makespan, 0.8 * full.makespan);
}

// Processors 0 and 2 are of one half: a load on one stops the other.
TEST(SyncPattern, ReplicaAndLadderHoldsProcessorsOfOneHalf) {
  const auto makespan = [](int loading, SyncPattern sync) {
    Sketch sketch(3, {.remote_load = 5});
    const Slot stored = sketch.filled("stored", loading, Memory::Streaming);
    const Slot weight = sketch.buffer("weight", loading);
    const Slot y = sketch.buffer("y", 0);
    sketch.program.steps = {load(stored, weight), sketch.compute("work", 0, 5, {}, {y})};
    return sketch.run(sync).makespan / kMicro;
  };
  EXPECT_DOUBLE_EQ(makespan(1, SyncPattern::ReplicaAndLadder), 5);
  EXPECT_DOUBLE_EQ(makespan(2, SyncPattern::ReplicaAndLadder), 10);
  EXPECT_DOUBLE_EQ(makespan(2, SyncPattern::SinglePipeline), 5);
  EXPECT_DOUBLE_EQ(makespan(1, SyncPattern::Full), 10);
}

// Two loads of a step are one exchange: who loads less waits for the other once.
TEST(SyncPattern, AStepOfSeveralRemoteTransfersHoldsOnce) {
  Sketch sketch(3, {.remote_load = 5});
  std::vector<executor::Transfer> transfers;
  for (int i = 0; i < 2; ++i)
    transfers.push_back({sketch.filled("stored", i, Memory::Streaming), sketch.buffer("weight", i)});
  const Slot y = sketch.buffer("y", 2);
  sketch.program.steps = {{executor::LoadRemote{transfers}}, sketch.compute("work", 2, 5, {}, {y})};
  const sim::Timeline timeline = sketch.run();
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 10);
  for (int i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(busy(timeline.processors[i], Activity::RemoteLoad), 5);
  EXPECT_DOUBLE_EQ(idle(timeline.processors[2], Idle::Sync), 5);
  EXPECT_DOUBLE_EQ(sketch.run(SyncPattern::SinglePipeline).makespan / kMicro, 5);
}

TEST(SyncPattern, NobodyElseWaitsOnAMachineThatIsNotSynchronous) {
  Sketch sketch(3, {.copy = 4});
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 1);
  const Slot y = sketch.buffer("y", 2);
  sketch.program.steps = {sketch.compute("make", 0, 1, {}, {a}), copy({{a, b}}),
                          sketch.compute("other", 2, 5, {}, {y})};
  EXPECT_DOUBLE_EQ(sketch.run().makespan / kMicro, 10);
  sketch.costs.synchronous = false;
  EXPECT_DOUBLE_EQ(sketch.run().makespan / kMicro, 5);
}

// What replicas reduce leaves while the next gradient is computed.
TEST(SyncPattern, CollectivesRunBesideComputesOnAMachineThatIsNotSynchronous) {
  Sketch sketch(1, {.collective = 3});
  const Slot a = sketch.buffer("a", 0);
  const Slot b = sketch.buffer("b", 0);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Step reduce{executor::Collective{.transfer = {x, y}}};
  sketch.program.steps = {sketch.compute("first", 0, 1, {}, {x}), reduce,
                          sketch.compute("second", 0, 4, {}, {a}), sketch.compute("third", 0, 1, {y}, {b})};
  EXPECT_DOUBLE_EQ(sketch.run().makespan / kMicro, 1 + 3 + 4 + 1);
  sketch.costs.synchronous = false;
  const sim::Timeline timeline = sketch.run();
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 1 + 4 + 1);
  EXPECT_DOUBLE_EQ(timeline.processors[0].overlapped / kMicro, 3);
}

// Computes of 5 hide gathers of 2, but for the first: the third gather begins when the first compute has
// ended, not before.
TEST(SyncPattern, GathersComeOneAhead) {
  Sketch sketch(1, {.collective = 2});
  const auto gather = [](Slot from, Slot to) {
    return Step{executor::Collective{.kind = executor::CollectiveKind::AllGather, .transfer = {from, to}}};
  };
  sketch.costs.synchronous = false;
  for (const char* name : {"0", "1", "2"}) {
    const Slot part = sketch.filled("part", 0);
    const Slot whole = sketch.buffer("whole", 0);
    const Slot y = sketch.buffer("y", 0);
    sketch.program.steps.push_back(gather(part, whole));
    sketch.program.steps.push_back(sketch.compute(name, 0, 5, {whole}, {y}));
  }
  const sim::Timeline timeline = sketch.run(SyncPattern::Full, true);
  EXPECT_DOUBLE_EQ(timeline.makespan / kMicro, 2 + 3 * 5);
  std::vector<double> starts;
  for (const sim::Event& event : timeline.events) {
    if (event.activity == sim::Activity::Collective) starts.push_back(event.start / kMicro);
  }
  EXPECT_EQ(starts.size(), 3U);
  EXPECT_DOUBLE_EQ(starts.back(), 2 + 5);
}

// Each load to the IO tiles is copied to the compute tiles, and the next load runs beside the compute.
sim::Timeline overlapped(int count, double load_time, double compute_time) {
  Sketch sketch(1, {.host = load_time, .tiles = 0.5});
  const Slot io = sketch.buffer("io", 0, Memory::IO);
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  const Step next = sketch.from_host(io);
  sketch.program.steps = {
      next, repeat(count, {between_tiles(io, x), next, sketch.compute("work", 0, compute_time, {x}, {y})})};
  return sketch.run();
}

TEST(IoTiles, LoadBesideTheCompute) {
  for (const auto& [load_time, compute_time] :
       {std::pair(2.0, 3.0), std::pair(3.0, 2.0), std::pair(1.0, 1.0)}) {
    const sim::Timeline timeline = overlapped(100, load_time, compute_time);
    EXPECT_NEAR(timeline.makespan / kMicro, load_time + 100 * (0.5 + std::max(load_time, compute_time)),
                1e-6);
    const sim::ProcessorReport& processor = timeline.processors[0];
    EXPECT_NEAR(processor.overlapped / kMicro, 100 * std::min(load_time, compute_time), 1e-6);
    EXPECT_NEAR(processor.io_busy[static_cast<std::size_t>(Activity::HostLoad)] / kMicro, 101 * load_time,
                1e-6);
    EXPECT_NEAR(idle(processor, Idle::Io), load_time + 99 * std::max(0.0, load_time - compute_time), 1e-6);
  }
}

TEST(IoTiles, TakeLessTimeThanOneLaneForBoth) {
  Sketch sketch(1, {.host = 2});
  const Slot x = sketch.buffer("x", 0);
  const Slot y = sketch.buffer("y", 0);
  sketch.program.steps = {repeat(100, {sketch.from_host(x), sketch.compute("work", 0, 3, {x}, {y})})};
  const sim::Timeline serial = sketch.run();
  EXPECT_NEAR(serial.makespan / kMicro, 500, 1e-6);
  EXPECT_EQ(serial.processors[0].overlapped, 0);
  EXPECT_LT(overlapped(100, 2, 3).makespan, 0.9 * serial.makespan);
}

}  // namespace
}  // namespace podium::testing
