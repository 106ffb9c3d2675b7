// The function that a fused op applies to its result.
#pragma once

#include <optional>
#include <string_view>

#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {

/// A Relu or a Clip: numbers outside of the bounds become the bounds, NaN stays NaN. oneDNN's own make a
/// number of NaN, so a pass over the result does them.
struct Clamp {
  float low = 0;
  float high = 0;

  void apply(Tensor& y) const;
};

/// Appends the function that the op's attributes "activation", "alpha" and "beta" describe; nothing for the
/// empty name and for what clamp_of gives.
void append_activation(dnnl::post_ops& post_ops, const ir::TypedOp& op);
/// The same attributes' clamp, if they describe one.
std::optional<Clamp> clamp_of(const ir::TypedOp& op);

}  // namespace podium::kernels
