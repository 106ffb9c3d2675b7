// Removes ops that hand on what they are given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// Leaves out ops that change no bit: identities, dropout in inference, casts to the same type, moves that
/// move nothing, pairs of transposes and reshapes, arithmetic with a neutral number, an If whose condition is
/// known; in bodies too. Needs inferred types. The names of the graph's outputs stay. True when something
/// changed.
bool simplify(Graph& graph);

/// What a graph is without the ops that hand on what they are given.
struct Simplification {
  std::vector<Op> ops = {};  ///< those that stay, in their order, reading what stands for their inputs
  IdMap<ValueId, ValueId> stands_for = {};  ///< per value: itself, or the value that it is equal to
  /// Outputs of the graph and the values that stand for them, whose names change places in this order.
  std::vector<std::pair<ValueId, ValueId>> renamed = {};
  bool changed = false;
};

/// `outputs_have_names`: of a whole graph, not of a body. The bodies of `ops` are simplified.
Simplification plan_simplification(const Graph& graph, bool outputs_have_names);
/// A line for each value that another stands for: "b is a"; then the ops that stay.
std::string print(const Simplification& plan, const Graph& graph);

}  // namespace podium::ir
