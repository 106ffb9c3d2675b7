// Clocks a Program on a device: a clock per lane and link, a barrier per sync group (semantics, section 3).
#pragma once

#include "executor/device/device.h"
#include "executor/options.h"
#include "executor/program.h"
#include "executor/sim/timeline.h"

namespace podium::sim {

struct SimulateOptions {
  SyncPattern sync = SyncPattern::Full;
  int io_tiles = 0;
  bool events = false;  ///< fill Timeline::events and the memory curves
};

/// `program` has been through plan_memory. Error when a size is known only by a run.
Timeline simulate(const executor::Program& program, const device::Device& device, const SimulateOptions& options);

}  // namespace podium::sim
