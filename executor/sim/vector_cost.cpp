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

double memory_bytes(double bytes, double cached, const Device& device) {
  return bytes - cached + cached / device.cache_speed;
}

double roofline_seconds(const Device& device, int tiles, double cycles, double bytes, double phases) {
  // What fits into the cache is found there, of a larger kernel a part.
  const double cached = std::min(bytes, static_cast<double>(device.cache_bytes));
  const double memory_cycles = memory_bytes(bytes, cached, device) / device.exchange_bytes_per_cycle / tiles;
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
