// Clocks a Program on a device: a clock per lane and link, a barrier per sync group (semantics, section 3).
//
// A step starts when its lanes and links are free, its inputs are there, earlier readers of the slots that it
// writes have ended, and its sync group has arrived; lanes and links take steps in program order. An exchange
// on compute lanes stops the compute lanes of its whole group until it ends, one on IO lanes the IO lanes.
// The group is:
// - between processors of a replica: every processor; between replicas: its own, of each replica;
// - with the host or streaming memory: every processor (Full), its own (SinglePipeline), the processors whose
//   number is equal modulo 2 (ReplicaAndLadder);
// - on a machine that is not synchronous: those that send and receive.
#pragma once

#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/sim/costs.h"
#include "executor/sim/timeline.h"
#include "executor/strategy.h"

namespace podium::sim {

struct SimulateOptions {
  SyncPattern sync = SyncPattern::Full;
  int io_tiles = 0;
  bool events = false;  ///< fill Timeline::events, the memory curves, and what processors waited for
  CostOptions costs = {};
};

/// `program` has been through plan_memory. Error when a size is known only by a run; InternalError when the
/// steps cannot run in their order (check_no_deadlock) or an account does not add up.
Timeline simulate(const executor::Program& program, const device::Device& device,
                  const SimulateOptions& options);

/// Clocks the Program with the given cost of each step; of the device only the memory counts.
Timeline simulate(const executor::Program& program, const device::Device& device, const Costs& costs,
                  const SimulateOptions& options);

}  // namespace podium::sim
