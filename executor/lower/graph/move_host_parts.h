// Inputs and outputs of which processors have parts.
#pragma once

#include "executor/lower/placed/placed_graph.h"
#include "executor/strategy.h"

namespace podium::lower {

/// Where several processors read an input, one that cuts a single box out of it, and reads nothing else of
/// it, gets that box from the host. An output that is put together from what several processors have made
/// leaves from each of them. What cuts and puts together is gone then. Does nothing for a graph of slices,
/// for outputs that add up over micro-batches, and for types that are not static.
void move_host_parts(PlacedGraph& placed, const Strategy& strategy);

}  // namespace podium::lower
