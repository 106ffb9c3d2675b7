// Branches of an If whose condition is known before the run.
#pragma once

namespace podium::ir {

class Graph;

/// Puts the ops of the branch that is taken in the place of each If whose condition is a constant, placed as
/// the If was; an Identity gives each of its outputs. Bodies stay as they are. True when there was one.
bool inline_branches(Graph& graph);

}  // namespace podium::ir
