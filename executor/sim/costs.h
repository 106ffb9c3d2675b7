// What each step of a Program costs on a device, whenever it runs: all that the clock knows of the machine.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/sim/block_cost.h"

namespace podium::sim {

/// A link that a step holds from its start.
struct LinkUse {
  std::string link;  ///< "ipu0->ipu1", "host->ipu0", "ddr0->ipu0"
  double bytes = 0;
  double seconds = 0;
};

struct StepCost {
  double seconds = 0;
  std::vector<LinkUse> links = {};
};

struct Costs {
  std::vector<BlockCost> blocks;  ///< by BlockId
  /// Of a step that moves data.
  std::function<StepCost(const executor::Step&)> movement = {};
  bool synchronous = true;          ///< an exchange stops its sync group (Device::synchronous)
  double call_seconds = 0;          ///< from the host's call to the first step
  double peak_flop_per_second = 0;  ///< of one processor; 0: no utilisation is told
};

/// `program` and `device` outlive the result. Error when a block's size is known only by a run.
Costs costs_of(const executor::Program& program, const device::Device& device, int io_tiles);

}  // namespace podium::sim
