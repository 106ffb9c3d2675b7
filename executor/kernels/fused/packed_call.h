// The run of a convolution or product whose weights were packed at preparation.
#pragma once

#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "executor/kernels/fused/fused_activation.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {

/// Inputs of the op: x, weights (packed here), bias, residual.
struct PackedCall {
  std::shared_ptr<const onednn::Call> call = {};
  Tensor weights = {};
  bool has_bias = false;
  bool has_residual = false;
  std::optional<Clamp> clamp = {};

  void operator()(const RunContext& run) const {
    Tensor& y = run.output(0);
    // The sum post-op adds to what is in the output: the plan gives both one memory whenever it can.
    if (has_residual && y.raw() != run.input(3).raw()) std::memcpy(y.raw(), run.input(3).raw(), y.bytes());
    const void* bias = has_bias ? run.input(2).raw() : nullptr;
    (*call)(std::array<const void*, 5>{run.input(0).raw(), weights.raw(), bias, y.raw(), run.scratch_memory});
    if (clamp) clamp->apply(y);
  }
};

}  // namespace podium::kernels
