// Weights that are rounded for a product lie as it says of them.
#pragma once

#include "annotate/partition.h"

namespace podium::annotate {

/// A RoundToBlocks of a weight in front of a node that says how it has that operand says the same, of what it
/// reads and of what it makes. It is in the graph since nodes have said so.
void say_of_rounded_weights(ir::Training& training, ShardingPlan& plan);

}  // namespace podium::annotate
