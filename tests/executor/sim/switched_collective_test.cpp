#include "executor/sim/switched_collective.h"

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "executor/device/presets.h"
#include "executor/device/read_device.h"
#include "ir/error.h"

namespace podium::sim {
namespace {

using executor::CollectiveKind;

double seconds(const device::Device& device, CollectiveKind kind, double bytes, int ranks) {
  std::vector<int> members(static_cast<std::size_t>(ranks));
  std::iota(members.begin(), members.end(), 0);
  return collective_cost(device, kind, bytes, members).seconds;
}

constexpr double kGiB = 1 << 30;

TEST(SwitchedCollective, OfALargeTensorIsBoundByTheRingsRate) {
  const device::Device& node = *device::find_preset("a100-80");
  const double rate = node.rung.bytes_per_second * node.ring_share;
  const double ring = 2 * kGiB * 7 / 8 / rate;
  EXPECT_NEAR(seconds(node, CollectiveKind::AllReduce, kGiB, 8), ring, 0.05 * ring);
  EXPECT_NEAR(seconds(node, CollectiveKind::AllGather, kGiB, 8), ring / 2, 0.05 * ring);
}

TEST(SwitchedCollective, AddsUpInTheSwitchFromFiveRanksOn) {
  device::Device node = *device::find_preset("h200");
  device::Device ring = node;
  ring.switch_reduction_share = 0;
  EXPECT_EQ(seconds(node, CollectiveKind::AllReduce, 8 * kGiB, 4),
            seconds(ring, CollectiveKind::AllReduce, 8 * kGiB, 4));
  EXPECT_LT(seconds(node, CollectiveKind::AllReduce, 8 * kGiB, 5),
            seconds(ring, CollectiveKind::AllReduce, 8 * kGiB, 5));
}

TEST(SwitchedCollective, NeverFallsWithBytesOrRanksOrMachines) {
  const device::Device cluster = device::read_device("h100:nodes=16");
  double before = 0;
  for (double bytes = 1; bytes < 1e11; bytes *= 3) {
    const double now = seconds(cluster, CollectiveKind::AllReduce, bytes, 16);
    EXPECT_GE(now, before) << bytes;
    before = now;
  }
  before = 0;
  for (int ranks : {8, 16, 32, 64, 128}) {
    const double now = seconds(cluster, CollectiveKind::AllReduce, kGiB, ranks);
    EXPECT_GE(now, before) << ranks;
    before = now;
  }
}

// nccl-tests on two machines of eight H100: microseconds of an all-reduce.
TEST(SwitchedCollective, BetweenMachinesTakesWhatWasMeasured) {
  const device::Device cluster = device::read_device("h100:nodes=2");
  constexpr double kMiB = 1 << 20;
  for (const auto& [bytes, microseconds] : std::vector<std::pair<double, double>>{
           {kMiB / 2, 123.7}, {2 * kMiB, 147.2}, {8 * kMiB, 204.8}, {32 * kMiB, 439.7}, {kGiB / 2, 2559}}) {
    const double found = seconds(cluster, CollectiveKind::AllReduce, bytes, 16) * 1e6;
    EXPECT_NEAR(found, microseconds, 0.16 * microseconds) << bytes;
  }
}

// Flags of low latency go through the hosts of the machines, at a rate of their own: a faster network gains
// latency alone.
TEST(SwitchedCollective, OfLowLatencyAcrossMachinesIsBoundByItsOwnRate) {
  device::Device cluster = device::read_device("a100-80:nodes=2");
  device::Device faster = cluster;
  faster.gateway.bytes_per_second *= 4;
  const double bytes = 64 << 10;
  EXPECT_DOUBLE_EQ(seconds(faster, CollectiveKind::AllReduce, bytes, 16),
                   seconds(cluster, CollectiveKind::AllReduce, bytes, 16));
  EXPECT_LT(seconds(faster, CollectiveKind::AllReduce, kGiB, 16),
            seconds(cluster, CollectiveKind::AllReduce, kGiB, 16));
}

TEST(SwitchedCollective, BetweenDomainsNeedsANetwork) {
  device::Device cluster = device::read_device("a100-80:nodes=2");
  cluster.gateway = {};
  EXPECT_THROW(seconds(cluster, CollectiveKind::AllReduce, 1e6, 16), Error);
}

}  // namespace
}  // namespace podium::sim
