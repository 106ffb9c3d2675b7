// Folds a BatchNormalization into the constant weights of the convolution before it.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// `BatchNormalization(Conv(x, W, B))` becomes `Conv(x, W', B')`. True when the graph changed.
bool fold_batch_norm(ir::Graph& graph);

}  // namespace podium::numeric
