// The run of a convolution or product whose weights were packed at preparation.
#pragma once

#include <omp.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/tools/invalid_flag.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/onednn.h"
#include "executor/kernels/tools/thread_limit.h"

namespace podium::kernels {

/// The sum post-op adds to what is in the output: the plan gives both one memory whenever it can.
inline void start_from_residual(const RunContext& run) {
  Tensor& y = run.output(0);
  if (y.raw() != run.input(3).raw()) std::memcpy(y.raw(), run.input(3).raw(), y.bytes());
}

/// Inputs of the op: x, weights (packed here), bias, residual.
struct PackedCall {
  std::shared_ptr<const onednn::Call> call = {};
  /// The same with the clamp in it: saves a pass over the result, but makes a number of NaN. Its comparison
  /// with NaN raises the processor's flag, and then the result is computed again with `call` and `clamp`.
  std::shared_ptr<const onednn::Call> clamping = {};
  Tensor weights = {};
  bool has_bias = false;
  bool has_residual = false;
  std::shared_ptr<const ChainCode> behind = {};  // an activation
  std::optional<Clamp> clamp = {};
  bool is_by_one_thread = false;  // the library adds up in another order on other threads

  void operator()(const RunContext& run) const {
    const ThreadLimit limit(is_by_one_thread ? 1 : 0);
    Tensor& y = run.output(0);
    if (has_residual) start_from_residual(run);
    const void* bias = has_bias ? run.input(2).raw() : nullptr;
    const std::array<const void*, 5> arguments{run.input(0).raw(), weights.raw(), bias, y.raw(),
                                               run.scratch_memory};
    if (clamping && is_pass_dear(y.size())) {
      clear_invalid_flag();
      (*clamping)(arguments);
      if (!is_invalid_flag_set()) return;
    }
    (*call)(arguments);
    if (behind) apply(*behind, y);
    if (clamp) clamp->apply(y);
  }

 private:
  // To ask all threads for their flags costs more than a pass over a small tensor.
  static bool is_pass_dear(std::int64_t elements) {
    constexpr std::int64_t kDear = 1 << 16;
    return elements >= kDear || omp_get_max_threads() == 1;
  }
};

}  // namespace podium::kernels
