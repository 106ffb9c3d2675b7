// The order of the ops inside a block.
#pragma once

#include "ir/graph.h"

namespace podium::lower {

/// Ops that only make outputs of a block run as soon as they can: outputs have their memory during the whole
/// block, so this costs none, and what they read may go earlier, as a gradient does that has been added to
/// its accumulator.
void make_outputs_early(ir::Graph& block);

}  // namespace podium::lower
