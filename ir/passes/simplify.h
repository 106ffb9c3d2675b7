// Removes ops that hand on what they are given.
#pragma once

namespace podium::ir {

class Graph;

/// Leaves out ops that change no bit: identities, dropout in inference, casts to the same type, moves that
/// move nothing, pairs of transposes and reshapes, arithmetic with a neutral number, an If whose condition is
/// known; in bodies too. Needs inferred types. The names of the graph's outputs stay. True when something
/// changed.
bool simplify(Graph& graph);

}  // namespace podium::ir
