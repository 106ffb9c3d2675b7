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

  /// `inputs` in the order of Program::inputs: one micro-batch and replica as it is, more of them in one
  /// array (see HostInputs). The outputs, in the order of Program::outputs (see HostOutputs), stay valid
  /// until the next run. Independent blocks run side by side; the numbers do not depend on how many threads
  /// there are. Error for inputs that do not fit or what a node cannot do; InternalError when a step reads a
  /// slot that no step has filled.
  std::span<const ir::Datum> run(std::span<const ir::Datum> inputs);

  /// What a slot of a persistent buffer holds, the parts of a sharded one put together: the first replica's,
  /// or that of the replica given.
  ir::Tensor contents(const executor::Slot& slot, int replica = 0) const;
  /// Gives every replica's slot that value, or its part of it. The tensor has the buffer's type.
  void set_contents(const executor::Slot& slot, const ir::Tensor& value);
  /// The same for one replica.
  void set_contents(const executor::Slot& slot, const ir::Tensor& value, int replica);

  /// The graphs of its blocks and the initial tensors of its buffers have gone into the preparation, so that
  /// weights are in memory once.
  const executor::Program& program() const;
  /// The most bytes that a processor held at once in the last run, weights included, streaming memory not.
  std::int64_t peak_bytes(int processor) const;
  /// Bytes of planned activations over all blocks.
  std::size_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podium::numeric
