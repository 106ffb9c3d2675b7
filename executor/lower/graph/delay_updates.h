// When updates happen in phases.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// Moves ops of the outer context to later phases, as far as needed: an op comes no earlier than what it
/// reads is complete, and one that updates a variable no earlier than the last phase in which the variable is
/// used, by updates included.
void delay_updates(PlacedGraph& placed);

}  // namespace podium::lower
