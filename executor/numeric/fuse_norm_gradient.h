// The gradient of a normalisation as one op.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// The ops of the gradient of a BatchNormalization that trains become `BatchNormalizationGradient`, which
/// goes over X and the gradient of Y channel by channel, and those of a LayerNormalization become
/// `LayerNormalizationGradient`, which goes row by row, so that both come from memory once. Those of an
/// InstanceNormalization, of a GroupNormalization, also as a Reshape around the former, and of rows without a
/// scale become `GroupNormalizationGradient`. True when the graph changed.
bool fuse_norm_gradient(ir::Graph& graph);

}  // namespace podium::numeric
