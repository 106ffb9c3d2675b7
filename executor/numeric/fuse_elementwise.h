// A rewrite for the engine: ops that compute element by element become chains.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// Joins neighbouring elementwise ops of one large shape in one `podium.Chain`, so that, for example, an
/// optimizer's update passes over the memory once. An operand is a tensor of the shape or one number for all
/// elements. Ops on single numbers between the joined ops move before the chain. True when the graph changed.
bool fuse_elementwise(ir::Graph& graph);

}  // namespace podium::numeric
