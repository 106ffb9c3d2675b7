// Outputs that no op makes.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// An output that is an input or a constant gets a copy of it, made beside the first op that reads it, else
/// beside the first of all: a place that is in use.
void give_outputs_an_op(PlacedGraph& placed);

}  // namespace podium::lower
