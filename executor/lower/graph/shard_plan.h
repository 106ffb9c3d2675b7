// Who computes with parts where replicas hold parts of variables, and who with whole tensors (semantics,
// sections 7.3 and 7.4).
#pragma once

#include <map>
#include <set>
#include <string>

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// The replicas that have a part each. Those that hold the same part may share the variable too.
struct ShardDomain {
  ir::ReplicaGroup group;
  bool is_shared_across = false;
  bool operator==(const ShardDomain&) const = default;
};

/// What becomes of the values of a graph; others stay whole.
struct ShardPlan {
  std::map<ir::ValueId, ShardDomain> variables;  ///< of which each replica holds a part
  std::map<int, ShardDomain> outputs;            ///< places in Graph::outputs of what these variables become
  std::map<ir::ValueId, ShardDomain> on_parts;   ///< what ops make element by element, of parts
  std::map<ir::ValueId, ShardDomain> sums;       ///< numbers that ops add up, over a part each
  std::map<ir::ValueId, ShardDomain>
      scattered;                           ///< of Training::reduced, where it is read: reduced into parts
  std::set<ir::ValueId> reduced_in_parts;  ///< of Training::reduced: no longer reduced as a whole tensor
  std::set<ir::ValueId> velocities;        ///< sharded state that micro-batches add to and replicas add up
};

/// Optimizers compute element by element, so what they compute with for a sharded variable is in parts, and
/// a norm is a sum over parts. Error when variables that are updated together are sharded over different
/// groups.
ShardPlan plan_shards(const PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations);

/// Whether an op adds up all elements of its input to a number.
bool adds_up_to_a_number(const ir::Graph& graph, const ir::Op& op);
/// A tensor of one element, of which there are no parts.
bool is_number(const ir::Graph& graph, ir::ValueId value);

/// A line a list of the plan, with the names of its values: `on parts: step, w_next`.
std::string print(const ir::Graph& graph, const ShardPlan& plan);

}  // namespace podium::lower
