// Costs of graphs given as text, and a device whose costs are counted by hand.
#pragma once

#include <string>

#include "executor/device/presets.h"
#include "executor/sim/op_cost.h"
#include "tests/support/graph_text.h"

namespace podium::testing {

inline const device::Device& preset(std::string_view name) { return *device::find_preset(name); }

/// The sum over the ops of a graph; on all tiles where none are given.
inline sim::OpCost cost_of(const ir::Graph& graph, const device::Device& device, int tiles = 0) {
  sim::OpCost sum;
  for (const ir::Op& op : graph.ops)
    sum += sim::op_cost(ir::TypedOp(graph, op), device, tiles == 0 ? device.tiles : tiles);
  return sum;
}

inline sim::OpCost cost_of(const std::string& text, const device::Device& device, int tiles = 0) {
  return cost_of(graph_of(text), device, tiles);
}

/// Round numbers: 8 tiles of 1 Hz that lose no time between phases.
inline device::Device plain_device() {
  device::Device device = preset("ipu-m2000");
  device.tiles = 8;
  device.clock_hertz = 1;
  device.phase_overhead_cycles = 0;
  device.sync_cycles = 0;
  device.matrix_share = 1;
  return device;
}

}  // namespace podium::testing
