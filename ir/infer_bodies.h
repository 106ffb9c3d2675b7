// Types of one op that has bodies.
#pragma once

namespace podium::ir {

class Graph;
struct Op;

/// Infers the types of the op's outputs, which are values of `graph`, and of every value in its bodies.
/// Nothing is folded.
void infer_with_bodies(Graph& graph, Op& op);

}  // namespace podium::ir
