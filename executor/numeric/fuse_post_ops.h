// Bias, residual and activation after a convolution or product join it.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// `podium.Convolution` and `podium.MatMul` take in the Adds and the elementwise function after them that are
/// the only readers of their result: activation(X * W + B + Z). True when the graph changed.
bool fuse_post_ops(ir::Graph& graph);

}  // namespace podium::numeric
