// Variables of which every replica holds a part: the graph with the exchanges that this needs (semantics,
// sections 7.3 and 7.4).
#pragma once

#include <map>
#include <string>

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// What a value that is a part, [ceil(elements / replicas of the group)], is a part of.
struct WholeTensor {
  ir::Type type;
  ir::ReplicaGroup group;
};

/// By value.
using Shards = std::map<ir::ValueId, WholeTensor>;

/// Rewrites a graph for the variables whose location is sharded, as shard_plan.h says who computes with what.
/// Gradients are reduced and scattered instead of reduced, once per update, or in every micro-batch where the
/// accumulator is sharded. Norms are sums over parts that the replicas then add up. A whole weight is
/// gathered from its new parts; a sharded one is gathered where it is read. What cannot be done on parts is
/// done on gathered tensors. Exchanges are ops of split_collectives.h. Every output of the graph is made by
/// an op.
Shards shard_variables(PlacedGraph& placed, const std::map<std::string, ir::TensorLocation>& locations,
                       int replicas);

}  // namespace podium::lower
