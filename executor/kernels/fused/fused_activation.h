// The function that a fused op applies to its result, as oneDNN's post-op.
#pragma once

#include <string_view>

#include "executor/kernels/tools/onednn.h"

namespace podium::kernels {

/// Appends the function that the op's attributes "activation", "alpha" and "beta" describe; nothing for the
/// empty name.
void append_activation(dnnl::post_ops& post_ops, const ir::TypedOp& op);

}  // namespace podium::kernels
