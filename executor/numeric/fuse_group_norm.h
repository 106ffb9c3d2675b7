// Recognises normalisation over groups of channels that exporters wrote as several ops.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// An InstanceNormalization of channels that a Reshape has joined into groups, with the Reshape back and a
/// scale and a bias for each channel, becomes `GroupNormalization`. True when the graph changed.
bool fuse_group_norm(ir::Graph& graph);

}  // namespace podium::numeric
