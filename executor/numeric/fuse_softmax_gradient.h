// The gradient of a Softmax along the last axis as one op.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// The ops of the gradient of a Softmax of rows become `SoftmaxGradient`, which goes row by row, so that its
/// result and what flows into it come from memory once. True when the graph changed.
bool fuse_softmax_gradient(ir::Graph& graph);

}  // namespace podium::numeric
