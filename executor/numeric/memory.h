// What the processors of one replica hold while a Program runs.
#pragma once

#include <vector>

#include "executor/numeric/pool.h"
#include "executor/program.h"
#include "ir/datum.h"

namespace podium::numeric {

/// Which slot it is in an iteration of the innermost Repeat.
std::size_t slot_index(const executor::Slot& slot, int slots, int iteration);

/// Whether a buffer holds in a run what the run before left: variables and streaming memory.
bool keeps_contents(const executor::Buffer& buffer);

/// A value for each slot of each buffer. What is in a slot is never written to: who fills a slot gives it
/// other memory. So values are shared freely.
class Memory {
 public:
  /// Cuts the initial tensors of sharded buffers: the replica holds the part of its rank in the buffer's
  /// group, zeros behind the end. `program` outlives the memory; its initial tensors are not needed any more.
  Memory(const executor::Program& program, int replica);

  /// What a slot of a buffer that keeps its contents holds.
  const ir::Tensor& contents(const executor::Slot& slot) const;
  /// Fills it with a tensor, or with the replica's part of one.
  void set_contents(const executor::Slot& slot, const ir::Tensor& whole);
  /// Before a run: variables and streaming memory keep what they hold, the rest holds its initial values or
  /// nothing.
  void start();
  /// InternalError, which names the step, when nothing has filled the slot.
  const ir::Datum& read(const executor::Step& step, const executor::Slot& slot, int iteration);
  /// A value that does not keep its memory, which is the host's, is copied where it outlives the run.
  void fill(const executor::Slot& slot, int iteration, const ir::Datum& value);
  void free(const executor::Slot& slot, int iteration);
  /// Where tensors for the slot come from: its processor's memory.
  Pool& pool(const executor::Slot& slot);

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
  std::vector<std::vector<Cell>> cells_;    // per buffer and slot
  std::vector<std::vector<Cell>> initial_;  // the same, of buffers that begin with values
  std::vector<Pool> pools_;                 // per processor
};

}  // namespace podium::numeric
