// Placed graphs as text, before and after a pass of lowering.
#pragma once

#include <string>

#include "executor/lower/placed/placed_graph.h"
#include "tests/support/hand_trained.h"

namespace podium::testing {

/// A graph placed as its ops say with the attributes __ipu_number, __pipeline_stage and __execution_phase,
/// which they lose.
lower::PlacedGraph placed_graph(HandTrained written);

/// The lines of print for the ops and the outputs.
std::string ops_of(const lower::PlacedGraph& placed);

}  // namespace podium::testing
