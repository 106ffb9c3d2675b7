#include "executor/sim/vector_cost.h"

#include <gtest/gtest.h>

namespace podium::sim {
namespace {

// Round numbers: two tiles of 1 Hz.
device::Device small_device(bool synchronous) {
  device::Device device;
  device.tiles = 2;
  device.clock_hertz = 1;
  device.vector_bytes_per_cycle = 8;
  device.exchange_bytes_per_cycle = 4;
  device.copy_bytes_per_cycle = 8;
  device.phase_overhead_cycles = 10;
  device.sync_cycles = 2;
  device.synchronous = synchronous;
  return device;
}

TEST(VectorCost, AddsUpWhatATileDoesOneAfterTheOther) {
  const VectorWork work{
      .bytes = 64, .flop = 8, .element_bytes = 4, .received_bytes = 12, .copied_bytes = 16, .phases = 1};
  const OpCost cost = vector_cost(work, small_device(true), 2);
  EXPECT_DOUBLE_EQ(cost.compute_cycles, (8 + 4) / 2 + 2 + 8);  // vectors, the copy, the rest of the overhead
  EXPECT_DOUBLE_EQ(cost.exchange_cycles, 3);
  EXPECT_DOUBLE_EQ(cost.sync_cycles, 2);
  EXPECT_DOUBLE_EQ(cost.seconds, 16 + 3 + 2);
  EXPECT_DOUBLE_EQ(cost.temporary_bytes, 2 * 12);
  EXPECT_DOUBLE_EQ(cost.flop, 8);
}

TEST(VectorCost, OfAMachineWithSharedMemoryIsTheSlowerOfUnitsAndMemory) {
  const device::Device device = small_device(false);
  EXPECT_DOUBLE_EQ(vector_cost({.bytes = 8, .flop = 64}, device, 2).seconds, 64 * 4 / 8 / 2 + 10);
  EXPECT_DOUBLE_EQ(vector_cost({.bytes = 800, .flop = 64}, device, 2).seconds, 800 / 4 / 2 + 10);
}

// 100 bytes are found at four times the rate of memory; what is beyond comes from there.
TEST(Roofline, FindsAPartOfALargeKernelInTheCache) {
  device::Device device = small_device(false);
  device.phase_overhead_cycles = 0;
  device.cache_bytes = 100;
  device.cache_speed = 4;
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 0, 80, 1), 80 / 4.0 / 2 / 4);
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 0, 100, 1), 100 / 4.0 / 2 / 4);
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 0, 180, 1), (80 + 100 / 4.0) / 4 / 2);
  double last = 0;
  for (double bytes = 0; bytes < 400; bytes += 0.5) {
    const double seconds = roofline_seconds(device, 2, 0, bytes, 1);
    EXPECT_GE(seconds, last);
    EXPECT_LE(seconds - last, 0.5 / 4 / 2 + 1e-12) << "no jump at " << bytes;
    last = seconds;
  }
}

// Of 180 bytes 40 are in the two tiles' own caches, which are eight times as fast, and 60 more in the other.
TEST(Roofline, FindsAPartInTheTilesOwnCaches) {
  device::Device device = small_device(false);
  device.phase_overhead_cycles = 0;
  device.cache_bytes = 100;
  device.cache_speed = 4;
  device.near_cache_bytes = 20;
  device.near_cache_speed = 8;
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 0, 40, 1), 40 / 8.0 / 4 / 2);
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 1, 0, 40, 1), (20 / 8.0 + 20 / 4.0) / 4);
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 0, 180, 1), (80 + 60 / 4.0 + 40 / 8.0) / 4 / 2);
}

TEST(Roofline, CountsALaunchForEachPhase) {
  const device::Device device = small_device(false);
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 5, 80, 1), 10 + 10);
  EXPECT_DOUBLE_EQ(roofline_seconds(device, 2, 15, 80, 3), 15 + 30);
}

}  // namespace
}  // namespace podium::sim
