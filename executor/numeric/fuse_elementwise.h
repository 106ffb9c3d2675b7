// A rewrite for the engine: ops that compute element by element become chains.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// Neighbouring ops that give each element of one large shape from the elements of the same place, and from
/// numbers that are the same for all, become one `podium.Chain`: an optimizer's update of a weight goes over
/// the memory once. Numbers that ops between them make come first. True when anything was changed.
bool fuse_elementwise(ir::Graph& graph);

}  // namespace podium::numeric
