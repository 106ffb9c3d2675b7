// Weight stashing: in a pipeline that updates while micro-batches are on their way, each of them meets one
// version of a weight all the way.
#pragma once

#include "executor/lower/placed/placed_graph.h"
#include "executor/lower/placed/stages.h"

namespace podium::lower {

/// The first stage that reads a weight takes the newest version; what later stages read for the same
/// micro-batch is that one, which waits for them beside the versions of the micro-batches before and after
/// it. An update reads and writes the newest. Nothing is copied for it on the device: an update leaves an old
/// version where it is.
void stash_weights(PlacedGraph& placed, const Stages& stages);

}  // namespace podium::lower
