// The cost of each step of a Program on a device, whenever it runs: the clock knows nothing else of the
// machine.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/sim/block_cost.h"
#include "executor/sim/routes.h"

namespace podium::sim {

struct StepCost {
  double seconds = 0;
  std::vector<LinkLoad> links = {};  ///< that the step holds from its start
};

struct Costs {
  ir::IdMap<executor::BlockId, BlockCost> blocks;
  /// The cost of a step that moves data.
  std::function<StepCost(const executor::Step&)> movement = {};
  /// The cost of an exchange in an iteration in which the transfers at these places act alone.
  std::function<StepCost(const executor::Step&, std::span<const int>)> part_of_exchange = {};
  bool synchronous = true;         ///< an exchange stops its sync group (Device::synchronous)
  bool early_collectives = false;  ///< Device::early_collectives
  double call_seconds = 0;         ///< from the host's call to the first step
};

/// What a run asks for beside the device.
struct CostOptions {
  Outlining outlining = Outlining::On;
  HostStreams host_streams = {};
  CollectiveMerging merging = {};
};

/// `program` and `device` outlive the result. Error when a block's size is known only by a run.
Costs costs_of(const executor::Program& program, const device::Device& device, int io_tiles,
               const CostOptions& options = {});

}  // namespace podium::sim
