// A block made ready to run: kernels chosen and prepared, memory planned.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "executor/kernels/tools/kernel.h"
#include "executor/numeric/channels_last.h"
#include "executor/numeric/storages.h"
#include "executor/numeric/working_memory.h"

namespace podium::numeric {

struct PrepareOptions {
  std::uint64_t seed = 0;  ///< for random ops without a seed of their own
  int threads = 0;         ///< that a kernel may use; 0: as many as OpenMP gives
  bool fuse = true;        ///< rewrite the graph for speed; without, every op has its own kernel
  std::shared_ptr<kernels::PackedStore> packed = {};  ///< keeps packed weights; absent: nobody does
  /// An engine calls it between the waves of a run, on the thread that runs; what it throws ends the run.
  std::function<void()> between_waves = {};
  /// Called after each op of a block has run, with the seconds that it took, on the thread that ran it:
  /// several may call at once. Costs two looks at the clock an op; absent: none.
  std::function<void(const ir::Graph&, const ir::Op&, double seconds)> after_op = {};
};

/// Runs one graph. Values of static type between kernels of static shape live in one arena, which is planned
/// once; other values are allocated when their shape is known.
class PreparedBlock {
 public:
  /// `layouts` have an effect only with PrepareOptions::fuse. An input that is `rewritten` is overwritten
  /// where an earlier run has made its memory and only the caller holds it. Blocks that share `working` must
  /// not run at the same time; absent: memory of its own.
  PreparedBlock(ir::Graph graph, const PrepareOptions& options, const Layouts& layouts = {},
                const std::vector<Rewritten>& rewritten = {}, std::shared_ptr<WorkingMemory> working = {});
  ~PreparedBlock();
  PreparedBlock(PreparedBlock&&) noexcept;
  PreparedBlock& operator=(PreparedBlock&&) noexcept;

  /// Runs the graph. `inputs` are in the order of the graph's inputs; nullptr only where the graph's input
  /// has a constant to fall back on. The outputs stay valid until the next run, and longer where they keep
  /// their memory: all do but inputs that are handed on. Error names the node that failed.
  std::span<const ir::Datum* const> run(std::span<const ir::Datum* const> inputs);

  ArenaBytes arena() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace podium::numeric
