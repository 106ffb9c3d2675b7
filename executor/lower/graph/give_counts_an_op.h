// Variables that count micro-batches.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// What a variable becomes in each micro-batch and other ops read, as those that count do, becomes the
/// variable by a copy, which can wait until all of them have read the variable (see Variables::is_late).
void give_counts_an_op(PlacedGraph& placed);

}  // namespace podium::lower
