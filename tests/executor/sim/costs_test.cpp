#include "executor/sim/costs.h"

#include <gtest/gtest.h>

#include "executor/device/presets.h"
#include "executor/sim/block_cost.h"
#include "tests/executor/sim/sketch.h"
#include "tests/support/graph_text.h"
#include "tests/support/hand_made.h"

namespace podium::testing {
namespace {

device::Device pod() { return *device::find_preset("ipu-pod16"); }

TEST(Costs, OfABlockAreThoseOfItsOpsOnTheComputeTiles) {
  HandMade made;
  const executor::BlockId block = made.block("g (float[64,64] x) => (float[64,64] y) { y = MatMul(x, x) }");
  const device::Device device = pod();
  const double seconds = sim::costs_of(made.program, device, 32).blocks[block].seconds;
  EXPECT_GT(seconds, 0);
  EXPECT_EQ(seconds, sim::block_cost(made.program[block].graph, device, device.tiles - 32).seconds);
}

constexpr const char* kProduct =
    "g (float16[4096,4096] x, float16[4096,4096] w) => (float16[4096,4096] y) { y = MatMul(x, w) }";

// One and a half percent apart: the slowest of 64 is some two and a half of that behind the mean.
TEST(Costs, OfProductsOnManyProcessorsAreThoseOfTheSlowest) {
  HandMade made;
  const executor::BlockId block = made.block(kProduct);
  device::Device device = *device::find_preset("a100-80");
  const auto seconds = [&](int replicas) {
    made.program.replicas = replicas;
    return sim::costs_of(made.program, device, 0).blocks[block].seconds;
  };
  double fewer = seconds(1);
  EXPECT_EQ(fewer, sim::block_cost(made.program[block].graph, device, device.tiles).seconds);
  for (int replicas = 2; replicas <= 1024; replicas *= 2) {
    const double more = seconds(replicas);
    EXPECT_GT(more, fewer) << replicas;
    fewer = more;
  }
  EXPECT_NEAR(seconds(64) / seconds(1), 1 + 2.4 * device.rate_spread, 0.005);
  device.rate_spread = 0;
  EXPECT_EQ(seconds(64), seconds(1));
}

TEST(Costs, OfProductsInTrainingHaveTheRateThatThePowerLeaves) {
  HandMade made;
  for (const char* name : {"x", "w", "y"}) made.buffer(name, {4096, 4096});
  const executor::BlockId block = made.block(kProduct);
  made.step({executor::Compute{block, {made.slot("x"), made.slot("w")}, {made.slot("y")}}});
  device::Device device = *device::find_preset("h100");
  device.sustained_share = 0.5;
  const auto seconds = [&] { return sim::costs_of(made.program, device, 0).blocks[block].seconds; };
  const double of_inference = seconds();
  made.program[made.slot("y").buffer].role = Role::Weight;
  EXPECT_NEAR(seconds() / of_inference, 2, 0.1);
  device.sustained_share = 1;
  EXPECT_EQ(seconds(), of_inference);
}

TEST(Costs, OfALoadAreTheSyncAndTheWayFromTheHost) {
  Sketch sketch(2);
  const Step step = sketch.from_host(sketch.buffer("x", 1));
  device::Device device = pod();
  const double way = sim::host_transfer(device, sim::Direction::Load, 1000).seconds;
  const sim::StepCost cost = sim::costs_of(sketch.program, device, 0).movement(step);
  EXPECT_DOUBLE_EQ(cost.seconds, device.global_sync_seconds + way);
  ASSERT_EQ(cost.links.size(), 1U);
  EXPECT_EQ(to_string(cost.links[0].link), "host->ipu1");
  device.synchronous = false;
  EXPECT_DOUBLE_EQ(sim::costs_of(sketch.program, device, 0).movement(step).seconds, way);
}

TEST(Costs, OfOneProcessorHaveNoSyncWithOthers) {
  Sketch sketch(1);
  const Step step = sketch.from_host(sketch.buffer("x", 0));
  const device::Device device = pod();
  EXPECT_DOUBLE_EQ(sim::costs_of(sketch.program, device, 0).movement(step).seconds,
                   device.sync_cycles / device.clock_hertz +
                       sim::host_transfer(device, sim::Direction::Load, 1000).seconds);
}

// The IO tiles are the smaller set, so they set the pace.
TEST(Costs, OfACopyBetweenTilesAreThoseOfTheSmallerSet) {
  Sketch sketch(1);
  const Step step = between_tiles(sketch.buffer("io", 0, Memory::IO), sketch.buffer("x", 0));
  const device::Device device = pod();
  const double cycles = 1000 / (32 * device.exchange_bytes_per_cycle) + device.phase_overhead_cycles;
  EXPECT_DOUBLE_EQ(sim::costs_of(sketch.program, device, 32).movement(step).seconds,
                   cycles / device.clock_hertz);
}

// Processor 1 has two transfers, one after the other, beside those of processor 0.
TEST(Costs, OfRemoteTransfersOfOneStepAreThoseOfTheSlowestProcessor) {
  Sketch sketch(2);
  std::vector<executor::Transfer> transfers;
  for (int processor : {0, 1, 1}) {
    transfers.push_back(
        {sketch.buffer("here", processor), sketch.buffer("far", processor, Memory::Streaming)});
  }
  const device::Device device = pod();
  const sim::StepCost cost =
      sim::costs_of(sketch.program, device, 0).movement({executor::StoreRemote{transfers}});
  const double once = sim::remote_seconds(device, sim::Direction::Store, 1000);
  EXPECT_DOUBLE_EQ(cost.seconds, device.global_sync_seconds + 2 * once);
  ASSERT_EQ(cost.links.size(), 2U);
  EXPECT_EQ(to_string(cost.links[1].link), "ipu1->ddr1");
  EXPECT_EQ(cost.links[1].bytes, 2000);
  EXPECT_DOUBLE_EQ(cost.links[0].seconds, once);
}

// Two of a thousand bytes each are one of two thousand, as far as the device's limit goes.
TEST(Costs, OfCollectivesInARowAreThoseOfOne) {
  Sketch sketch(1);
  sketch.program.replicas = 4;
  for (int i = 0; i < 2; ++i) {
    const Slot slot = sketch.buffer("gradient", 0);
    sketch.program.steps.push_back({executor::Collective{.transfer = {slot, slot}}});
  }
  device::Device device = pod();
  const auto seconds = [&] {
    const sim::Costs costs = sim::costs_of(sketch.program, device, 0);
    return costs.movement(sketch.program.steps[0]).seconds + costs.movement(sketch.program.steps[1]).seconds;
  };
  const double apart = seconds();
  device.collective_merge_bytes = 2000;
  EXPECT_NEAR(seconds(), apart - device.collective_overhead_seconds - device.global_sync_seconds, 10e-6);
  device.collective_merge_bytes = 1999;
  EXPECT_DOUBLE_EQ(seconds(), apart);
}

// Where they come as soon as their operands are made, what the Program does between them keeps none apart.
TEST(Costs, OfCollectivesThatComeEarlyAreThoseOfOne) {
  Sketch sketch(1);
  sketch.program.replicas = 4;
  const Slot slot = sketch.buffer("gradient", 0);
  for (const executor::CollectiveKind kind :
       {executor::CollectiveKind::ReduceScatter, executor::CollectiveKind::AllGather,
        executor::CollectiveKind::ReduceScatter, executor::CollectiveKind::AllGather}) {
    sketch.program.steps.push_back({executor::Collective{.kind = kind, .transfer = {slot, slot}}});
    sketch.program.steps.push_back({executor::CopyBetweenTiles{{slot, slot}}});
  }
  device::Device device = *device::find_preset("h100");
  device.collective_merge_member_bytes = 0;
  const auto seconds = [&](std::size_t step) {
    return sim::costs_of(sketch.program, device, 0).movement(sketch.program.steps[step]).seconds;
  };
  for (const std::size_t first : {0U, 2U}) EXPECT_LT(seconds(first + 4), 0.5 * seconds(first));
  device.collective_merge_bytes = 1999;
  for (const std::size_t first : {0U, 2U}) EXPECT_DOUBLE_EQ(seconds(first + 4), seconds(first));
  device.collective_merge_member_bytes = 500;
  for (const std::size_t first : {0U, 2U}) EXPECT_LT(seconds(first + 4), 0.5 * seconds(first));
  device.early_collectives = false;
  for (const std::size_t first : {0U, 2U}) EXPECT_DOUBLE_EQ(seconds(first + 4), seconds(first));
}

// Replicas of two processors: what is next to replica 0 in its group is a stride away, on the same processor.
TEST(Costs, OfACollectiveInGroupsAreThoseOfTheirMembers) {
  using ir::GroupType;
  const device::Device device = pod();
  const auto seconds = [&](const ir::ReplicaGroup& group) {
    Sketch sketch(2);
    sketch.program.replicas = 8;
    const Slot slot = sketch.buffer("gradient", 1);
    const Step step{executor::Collective{.group = group, .transfer = {slot, slot}}};
    return sim::costs_of(sketch.program, device, 0).movement(step).seconds;
  };
  const double sync = device.global_sync_seconds;
  const auto between = [&](const std::vector<int>& members) {
    return sync + sim::collective_cost(device, executor::CollectiveKind::AllReduce, 1000, members).seconds;
  };
  EXPECT_DOUBLE_EQ(seconds({GroupType::Consecutive, 2}), between({1, 3}));
  EXPECT_DOUBLE_EQ(seconds({GroupType::Consecutive, 2, 2}), between({1, 5}));
  EXPECT_DOUBLE_EQ(seconds({GroupType::Orthogonal, 2}), between({1, 9}));
  EXPECT_LT(seconds({GroupType::Consecutive, 2}), seconds({GroupType::Consecutive, 2, 2}));
  EXPECT_LT(seconds({GroupType::Consecutive, 2, 2}), seconds({GroupType::Orthogonal, 2}));
}

TEST(Costs, OfCollectivesInOtherGroupsAreNotMerged) {
  const auto seconds = [](int stride) {
    Sketch sketch(1);
    sketch.program.replicas = 8;
    double sum = 0;
    for (const ir::ReplicaGroup& group :
         {ir::ReplicaGroup{ir::GroupType::Consecutive, 2}, {ir::GroupType::Consecutive, 2, stride}}) {
      const Slot slot = sketch.buffer("gradient", 0);
      sketch.program.steps.push_back({executor::Collective{.group = group, .transfer = {slot, slot}}});
    }
    const device::Device device = pod();
    const sim::Costs costs = sim::costs_of(sketch.program, device, 0, {.merging = {.all_reduces = true}});
    for (const Step& step : sketch.program.steps) sum += costs.movement(step).seconds;
    return sum;
  };
  EXPECT_GT(seconds(2), seconds(1) + pod().collective_overhead_seconds);
}

// Sums of a thousand bytes on processors 1 and 2 of three.
Step sum_in_a_group(Sketch& sketch) {
  executor::GroupCollective sum;
  for (int processor : {1, 2}) {
    const Slot slot = sketch.buffer("summand", processor);
    sum.transfers.push_back({slot, slot});
  }
  return {std::move(sum)};
}

// Processors that exchange together have one program, which calls nobody for what they exchange.
TEST(Costs, OfACollectiveBetweenProcessorsAreThoseOfItsTransfers) {
  device::Device device = pod();
  Sketch sketch(3);
  const Step step = sum_in_a_group(sketch);
  const auto together = [&] { return sim::costs_of(sketch.program, device, 0).movement(step).seconds; };
  const auto among_members = [](const device::Device& on) {
    return sim::collective_cost(on, executor::CollectiveKind::AllReduce, 1000, {1, 2}).seconds;
  };
  device::Device without_overhead = device;
  without_overhead.collective_overhead_seconds = 0;
  EXPECT_DOUBLE_EQ(together(), device.global_sync_seconds + among_members(without_overhead));
  device.synchronous = false;
  EXPECT_DOUBLE_EQ(together(), among_members(device));
}

TEST(Costs, OfCollectivesBetweenProcessorsInARowAreThoseOfOne) {
  device::Device device = pod();
  device.synchronous = false;
  Sketch sketch(3);
  for (int i = 0; i < 2; ++i) sketch.program.steps.push_back(sum_in_a_group(sketch));
  const auto seconds = [&] {
    const sim::Costs costs = sim::costs_of(sketch.program, device, 0);
    double sum = 0;
    for (const Step& step : sketch.program.steps) {
      if (std::holds_alternative<executor::GroupCollective>(step.action)) sum += costs.movement(step).seconds;
    }
    return sum;
  };
  const double apart = seconds();
  device.collective_merge_bytes = 2000;
  EXPECT_NEAR(seconds(), apart - device.collective_overhead_seconds, 10e-6);
  // What a member does between them keeps them apart.
  const Slot slot = sketch.buffer("x", 2);
  sketch.program.steps.insert(sketch.program.steps.begin() + 1, {executor::CopyBetweenTiles{{slot, slot}}});
  EXPECT_DOUBLE_EQ(seconds(), apart);
}

TEST(Costs, OfCollectivesThatTheOptionsMergeAreThoseOfOneOnAnyDevice) {
  Sketch sketch(1);
  sketch.program.replicas = 4;
  for (int i = 0; i < 2; ++i) {
    const Slot slot = sketch.buffer("gradient", 0);
    sketch.program.steps.push_back({executor::Collective{.transfer = {slot, slot}}});
  }
  const device::Device device = pod();
  const auto seconds = [&](const CollectiveMerging& merging) {
    const sim::Costs costs = sim::costs_of(sketch.program, device, 0, {.merging = merging});
    return costs.movement(sketch.program.steps[0]).seconds + costs.movement(sketch.program.steps[1]).seconds;
  };
  const double apart = seconds({});
  EXPECT_NEAR(seconds({.all_reduces = true}),
              apart - device.collective_overhead_seconds - device.global_sync_seconds, 10e-6);
  EXPECT_DOUBLE_EQ(seconds({.reduce_scatters = true, .all_gathers = true}), apart);
}

// Without prefetch the host begins when it is asked; a deeper buffer lets the processor run ahead of the
// link.
TEST(Costs, OfALoadFollowPrefetchAndTheDepthOfItsBuffer) {
  Sketch sketch(1);
  const Step step = sketch.from_host(sketch.buffer("x", 0));
  sketch.program.steps = {step};
  const device::Device device = pod();
  const auto cost = [&](const HostStreams& streams) {
    return sim::costs_of(sketch.program, device, 0, {.host_streams = streams}).movement(step);
  };
  const double link = sim::host_transfer(device, sim::Direction::Load, 1000).link_seconds;
  const sim::StepCost plain = cost({});
  EXPECT_EQ(plain.links[0].backlog_seconds, 0);
  EXPECT_DOUBLE_EQ(cost({.prefetch = Prefetch::Off}).seconds, plain.seconds + link);
  EXPECT_DOUBLE_EQ(cost({.depth = 3}).links[0].backlog_seconds, 2 * link);
  EXPECT_DOUBLE_EQ(cost({.depth = 3, .depths = {{"x", 2}}}).links[0].backlog_seconds, link);
}

TEST(Costs, OfABlockOnTheIoTilesAreThoseOfFewTiles) {
  Sketch sketch(1);
  executor::Block block{.name = "b",
                        .graph = graph_of("g (float[4096] x) => (float[4096] y) { y = Exp(x) }")};
  sketch.program.blocks = {block};
  block.memory = Memory::IO;
  sketch.program.blocks.push_back(block);
  const device::Device device = pod();
  const sim::Costs costs = sim::costs_of(sketch.program, device, 32);
  EXPECT_EQ(costs.blocks[{1}].seconds, sim::block_cost(block.graph, device, 32).seconds);
  EXPECT_GT(costs.blocks[{1}].seconds, costs.blocks[{0}].seconds);
}

TEST(Costs, OfACutThatEachReplicaMakesForItselfAreNothing) {
  Sketch sketch(1);
  const Slot x = sketch.buffer("x", 0);
  const Step step{executor::Collective{.kind = executor::CollectiveKind::ReduceScatter,
                                       .reduction = executor::CollectiveReduction::Local,
                                       .transfer = {x, sketch.buffer("part", 0)}}};
  const device::Device device = pod();
  const sim::StepCost cost = sim::costs_of(sketch.program, device, 0).movement(step);
  EXPECT_EQ(cost.seconds, 0);
  EXPECT_TRUE(cost.links.empty());
}

}  // namespace
}  // namespace podium::testing
