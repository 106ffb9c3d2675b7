// Ops on the IO tiles of their processor (`__tile_set` 1).
#pragma once

#include "executor/program.h"

namespace podium::lower {

/// Splits the blocks that hold ops for the IO tiles into blocks for one set of tiles each. What crosses
/// between the sets is copied, into buffers of its own; constants lie where their readers are. Comes before
/// plan_memory.
void split_tile_sets(executor::Program& program);

/// How many ops of a graph, bodies not among them, ask for the IO tiles.
int count_on_io_tiles(const ir::Graph& graph);

}  // namespace podium::lower
