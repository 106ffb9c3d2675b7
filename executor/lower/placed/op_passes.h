// Which ops of a graph that trains are of the forward and which of the backward pass.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

enum class OpPass : std::uint8_t {
  Forward,   ///< leads to the loss, or to no update
  Backward,  ///< leads to an update, or to a gradient that has none yet, and not to the loss
  Update     ///< runs once per update
};

/// Of every op; all are forward in a graph that does not train.
ir::IdMap<ir::OpId, OpPass> passes_of(const PlacedGraph& placed);

}  // namespace podium::lower
