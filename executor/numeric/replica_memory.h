// The values in the buffers of one replica while a Program runs.
#pragma once

#include <vector>

#include "executor/numeric/memory_pool.h"
#include "executor/program.h"
#include "ir/datum.h"

namespace podium::numeric {

/// The number of the slot in an iteration of the innermost Repeat.
int slot_index(const executor::Slot& slot, int slots, int iteration);

/// Whether a buffer keeps its contents from run to run: variables and streaming memory do.
bool keeps_contents(const executor::Buffer& buffer);

/// A value for each slot of each buffer. The memory of a value in a slot is never written to: a step that
/// fills a slot puts other memory there. So values are shared freely.
class ReplicaMemory {
 public:
  /// Cuts the initial tensors of sharded buffers: the replica holds the part of its rank in the buffer's
  /// group, with zeros after the end. `program` outlives the memory; its initial tensors are no longer needed
  /// afterwards.
  ReplicaMemory(const executor::Program& program, int replica);

  /// The value in a slot of a buffer that keeps its contents.
  const ir::Tensor& contents(const executor::Slot& slot) const;
  /// Fills such a slot with a tensor, or with the replica's part of one.
  void set_contents(const executor::Slot& slot, const ir::Tensor& whole);
  /// Called before a run. Variables and streaming memory keep their values; any other slot gets its initial
  /// value or becomes empty.
  void start();
  /// The value in a slot. InternalError, which names the step, when nothing has filled the slot.
  const ir::Datum& read(const executor::Step& step, const executor::Slot& slot, int iteration);
  /// Fills a slot. A value in memory that the host owns is copied where it outlives the run.
  void fill(const executor::Slot& slot, int iteration, const ir::Datum& value);
  void free(const executor::Slot& slot, int iteration);
  /// The pool from which tensors for the slot come: that of its processor.
  MemoryPool& pool(const executor::Slot& slot);

 private:
  struct Cell {
    ir::Datum value = {};
    bool filled = false;
  };
  ir::Tensor part_of(const executor::Buffer& buffer, const ir::Tensor& whole) const;
  static void empty(Cell& cell);
  Cell& cell(const executor::Slot& slot, int iteration);

  const executor::Program* program_;
  int replica_;
  ir::IdMap<executor::BufferId, std::vector<Cell>> cells_;    // per slot
  ir::IdMap<executor::BufferId, std::vector<Cell>> initial_;  // the same, of buffers that begin with values
  std::vector<MemoryPool> pools_;                             // per processor
};

}  // namespace podium::numeric
