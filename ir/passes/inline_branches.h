// Branches of an If whose condition is known before the run.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// Puts the ops of the branch that is taken in the place of each If whose condition is a constant, placed as
/// the If was; an Identity gives each of its outputs. Bodies stay as they are. Gives for each op of the graph
/// as it is then the former op that it is or comes from; nothing when there was no such If.
std::vector<OpId> inline_branches(Graph& graph);

}  // namespace podium::ir
