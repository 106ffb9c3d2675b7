// Variables of which every replica holds a part: who computes with parts, who with whole tensors, and what is
// exchanged between them (semantics, sections 7.3 and 7.4).
#pragma once

#include <map>
#include <string>

#include "ir/graph.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::lower {

/// What a value that is a part, [ceil(elements / replicas of the group)], is a part of.
struct WholeTensor {
  ir::Type type;
  ir::ReplicaGroup group;
};

/// By value.
using Parts = std::map<ir::ValueId, WholeTensor>;

/// Rewrites a graph for the variables whose location is sharded. Optimizers compute element by element, so
/// they compute on parts; norms are sums over parts that the replicas then add up. Gradients are reduced and
/// scattered instead of reduced, once per update, or in every micro-batch where the accumulator is sharded. A
/// whole weight is gathered from its new parts; a sharded one is gathered where it is read. What cannot be
/// done on parts is done on gathered tensors. Exchanges are ops of split_collectives.h. Every output of the
/// graph is made by an op. Error when variables that are updated together are sharded over different groups.
Parts shard_variables(ir::Training& training, ir::Placement& placement,
                      const std::map<std::string, ir::TensorLocation>& locations, int replicas);

}  // namespace podium::lower
