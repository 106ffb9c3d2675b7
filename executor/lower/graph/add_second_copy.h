// Pipelines whose micro-batches come from both ends.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// Appends a copy of each op that runs for a micro-batch, on processor p - 1 - r of p where the op is on r,
/// in a stage behind all of the first copy's. Even micro-batches go through the first copy, odd ones through
/// the second. Both read the same weights. What micro-batches add to a variable, the second copy adds to a
/// sum of its own, zero before the first, and updates read sum of both, the first copy's + the second's. Of
/// other values of a micro-batch updates read the second copy's, which has the last one. Error where
/// micro-batches change a variable otherwise than by adding to it.
void add_second_copy(PlacedGraph& placed);

}  // namespace podium::lower
