// Runs a Program with numbers.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "executor/numeric/prepared_block.h"
#include "executor/program.h"

namespace podium::numeric {

class Engine {
 public:
  explicit Engine(executor::Program program, const PrepareOptions& options = {});
  ~Engine();
  Engine(Engine&&) noexcept;

  /// Runs the Program once. `inputs` are in the order of Program::inputs: a single micro-batch of a single
  /// replica is given as it is, several are one array (see HostInputs). The outputs, in the order of
  /// Program::outputs (see HostOutputs), stay valid until the next run. Independent blocks run side by side;
  /// the numbers do not depend on the number of threads. Error for inputs that do not fit or for an op that
  /// cannot compute; InternalError when a step reads a slot that no step has filled.
  std::span<const ir::Datum> run(std::span<const ir::Datum> inputs);

  /// The value in a slot of a persistent buffer: the first replica's, or that of the replica given. The parts
  /// of a sharded buffer are put together.
  ir::Tensor contents(const executor::Slot& slot, int replica = 0) const;
  /// Writes a value, or a part of it, to the slot of every replica. The tensor has the buffer's type.
  void set_contents(const executor::Slot& slot, const ir::Tensor& value);
  /// Writes a value, or a part of it, to the slot of one replica.
  void set_contents(const executor::Slot& slot, const ir::Tensor& value, int replica);

  /// The Program. The graphs of its blocks and the initial tensors of its buffers are gone: preparation has
  /// taken them, so that weights are in memory once.
  const executor::Program& program() const;
  /// The most bytes that a processor held at once in the last run, with weights, without streaming memory.
  std::int64_t peak_bytes(int processor) const;
  /// Of all processors: blocks of one share the arena of the largest.
  ArenaBytes arena() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podium::numeric
