// Rounds: what processors that share a turn compute side by side, between two exchanges of theirs.
#pragma once

#include <span>

#include "executor/lower/placed/parts.h"
#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// Cuts the sections of micro-batches where what an op computes with has come from another processor of its
/// phase and stage: what processors that do alike compute between two exchanges has the same section. What is
/// computed for a later section alone is computed there, unless more bytes would wait for it. Turns
/// whose ops are on one processor stay as they are. An exchange in a group is a turn of its own, behind what
/// its section computes.
void cut_into_rounds(const PlacedGraph& placed, ir::IdMap<ir::OpId, Turn>& turns);

/// How many parts, from the first one on, are a round: parts of a micro-batch, of one phase and stage, on
/// different processors, of which none reads what another one makes. At least 1; an exchange in a group is
/// alone.
std::size_t length_of_round(std::span<const Part> parts);

}  // namespace podium::lower
