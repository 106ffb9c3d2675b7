// The gradient of a cross entropy of scores as one op.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// The ops of the gradient of a SoftmaxCrossEntropyLoss of rows of scores become `CrossEntropyGradient`, so
/// that the scores, which may be by far the largest tensor of a model of words, come from memory once. True
/// when the graph changed.
bool fuse_loss_gradient(ir::Graph& graph);

}  // namespace podium::numeric
