// Memory of every processor as the steps of a Program fill and free it, in program order.
//
// The rules, which the numeric engine measures by as well:
// - A buffer in compute or IO memory that is always live takes slot_bytes x slots during the whole run.
// - Any other has one slot, which takes slot_bytes from the start of the first step that writes it to the end
//   of the step that lists it in its `frees` (of a Repeat: of its last iteration), and again from the next
//   write. A write to a slot that is there takes nothing.
// - While a Compute runs, its block's temporary_bytes come on top of what is there, its writes included.
// - A store to the host that moves nothing takes and frees as any other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "executor/acting.h"
#include "executor/device/device.h"
#include "executor/program.h"
#include "executor/sim/costs.h"
#include "executor/sim/pending_frees.h"
#include "executor/sim/timeline.h"

namespace podium::sim {

/// A change of memory: a buffer's slot or a block's inside is taken or freed.
struct MemoryChange {
  executor::BufferId buffer;  ///< not valid: a block's inside
  int processor = 0;
  executor::Memory memory = executor::Memory::Compute;
  executor::Role role = executor::Role::Activation;
  std::int64_t bytes = 0;  ///< less than 0: goes
};

/// What memory of this kind is held for: all on the IO tiles are streams.
Holding holding_of(executor::Memory memory, executor::Role role);

/// The transient buffers that are live.
class LiveBuffers {
 public:
  explicit LiveBuffers(const executor::Program& program);

  /// The changes when a step starts in an iteration of the innermost Repeat, and those when it ends. A Repeat
  /// itself takes nothing. Valid until the next call.
  std::span<const MemoryChange> start(const executor::Step& step, std::int64_t iteration);
  std::span<const MemoryChange> end(const executor::Step& step);
  bool has(executor::BufferId buffer) const { return live_[buffer]; }
  /// Of each buffer whether it is live.
  const ir::IdMap<executor::BufferId, bool>& all() const { return live_; }

 private:
  MemoryChange change(executor::BufferId buffer, int sign) const;

  const executor::Program* program_;
  ir::IdMap<executor::BufferId, std::int64_t> slot_bytes_;
  ir::IdMap<executor::BufferId, bool> live_;  ///< from the start those that never come and go
  std::vector<MemoryChange> changes_;         ///< of the last call
  executor::ActingTransfers transfers_;
  PendingFrees pending_;
};

struct ProcessorMemory {
  MemoryUse use = {};
  std::vector<LargeTensor> largest = {};
};

/// The memory of each processor at the peak of its data, the first of several peaks, with the estimates of
/// copies and code on top.
std::vector<ProcessorMemory> memory_of(const executor::Program& program, const device::Device& device,
                                       const Costs& costs);

}  // namespace podium::sim
