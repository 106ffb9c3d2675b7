// BatchNormalization without needless passes over memory: in inference it goes into the constant weights of
// the convolution before it, in training its gradient is one op.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// `BatchNormalization(Conv(x, W, B))` becomes `Conv(x, W', B')`. True when the graph changed.
bool fold_batch_norm(ir::Graph& graph);

/// The ops of the gradient of a BatchNormalization that trains become one, which goes over X and the gradient
/// of Y channel by channel, so that both come from memory once. True when the graph changed.
bool fuse_batch_norm_gradient(ir::Graph& graph);

}  // namespace podium::numeric
