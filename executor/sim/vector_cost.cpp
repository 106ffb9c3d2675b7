#include "executor/sim/vector_cost.h"

#include <algorithm>
#include <cmath>

namespace podium::sim {
namespace {

using device::Device;

OpCost tile_cost(const VectorWork& work, const Device& device, int tiles) {
  const double vectors = work.bytes / device.vector_bytes_per_cycle +
                         work.flop * work.element_bytes / device.vector_bytes_per_cycle;
  OpCost cost;
  cost.sync_cycles = work.phases * device.sync_cycles;
  cost.compute_cycles = std::ceil(vectors / tiles) + work.copied_bytes / device.copy_bytes_per_cycle +
                        work.phases * std::max(0.0, device.phase_overhead_cycles - device.sync_cycles);
  cost.exchange_cycles = work.received_bytes / device.exchange_bytes_per_cycle;
  cost.temporary_bytes = work.received_bytes * tiles;
  cost.seconds = (cost.compute_cycles + cost.exchange_cycles + cost.sync_cycles) / device.clock_hertz;
  return cost;
}

}  // namespace

CacheRoom cache_room(const Device& device, int tiles) {
  const double near = static_cast<double>(device.near_cache_bytes) * tiles;
  return {.all = std::max(static_cast<double>(device.cache_bytes), near), .near = near};
}

double memory_bytes(double bytes, const CacheRoom& room, const Device& device) {
  const double cached = std::min(bytes, room.all);
  const double near = std::min(bytes, room.near);
  return bytes - cached + (cached - near) / device.cache_speed + near / device.near_cache_speed;
}

double roofline_seconds(const Device& device, int tiles, double cycles, double bytes, double phases) {
  // What fits into a cache is found there, of a larger kernel a part.
  const double memory_cycles =
      memory_bytes(bytes, cache_room(device, tiles), device) / device.exchange_bytes_per_cycle / tiles;
  return (std::max(cycles, memory_cycles) + phases * device.phase_overhead_cycles) / device.clock_hertz;
}

OpCost vector_cost(const VectorWork& work, const Device& device, int tiles) {
  OpCost cost;
  if (device.synchronous) {
    cost = tile_cost(work, device, tiles);
  } else {
    const double cycles = work.flop * work.element_bytes / device.vector_bytes_per_cycle / tiles;
    cost.seconds = roofline_seconds(device, tiles, cycles, work.bytes, 1);
  }
  cost.flop = work.flop;
  return cost;
}

}  // namespace podium::sim
