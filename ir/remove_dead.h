// Removes what no output depends on.
#pragma once

namespace podium::ir {

class Graph;

/// Removes ops whose results nobody reads, optional outputs that nobody reads, captured values that no body
/// reads and values that nothing names; in bodies too. Inputs and outputs of the graph stay. True when
/// something went.
bool remove_dead(Graph& graph);

}  // namespace podium::ir
