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

  /// `inputs` in the order of Program::inputs, of their types. The outputs, in the order of
  /// Program::outputs, stay valid until the next run.
  std::span<const ir::Datum> run(std::span<const ir::Datum> inputs);

  /// The graphs of its blocks have gone into the preparation, so that weights are in memory once.
  const executor::Program& program() const;
  /// Bytes of planned activations over all blocks.
  std::size_t arena_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podium::numeric
