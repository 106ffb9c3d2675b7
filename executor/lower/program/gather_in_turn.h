// When a block that reads weights in parts gathers each of them.
#pragma once

#include "executor/program.h"

namespace podium::lower {

/// Gathers each weight right before the first op that reads it, and again where it is read later, so that
/// the whole tensors of a few neighbours are there at a time: of as many bytes together as the largest has.
/// The result says for each op of the graph how often the block has exchanged before it runs, at least.
ir::IdMap<ir::OpId, int> gather_in_turn(ir::Graph& graph);

}  // namespace podium::lower
