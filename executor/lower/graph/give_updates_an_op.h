// Updates that no op makes.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// A variable that becomes a constant, as an accumulator becomes zero, gets a copy of it, made beside the
/// first op that reads the variable, once per update.
void give_updates_an_op(PlacedGraph& placed);

}  // namespace podium::lower
