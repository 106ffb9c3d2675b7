// The arithmetic of collectives: reduction, scattering and gathering within a group of replicas, and within a
// group of processors.
#pragma once

#include <vector>

#include "executor/numeric/replica_memory.h"

namespace podium::numeric {

/// Part number `rank` of a flat tensor, with zeros after the tensor's end (semantics, section 7.3). The size
/// of `part` decides how many parts there are.
void cut_part(const ir::Tensor& whole, int rank, ir::Tensor& part);

/// Puts the parts of all members together, in the order of the members, as a tensor of `type`.
ir::Tensor join_parts(const std::vector<ir::Tensor>& parts, const ir::Type& type);

/// Runs a collective. `memories` has one entry for each replica. Sums go over the replicas of a group in
/// their order.
void run_collective(const executor::Program& program, const executor::Step& step,
                    const executor::Collective& collective, std::vector<ReplicaMemory>& memories,
                    int iteration);

/// Runs a collective between processors in one replica. Sums go over the members in their order; of what all
/// members get there is one copy in memory.
void run_group_collective(const executor::Program& program, const executor::Step& step,
                          const executor::GroupCollective& collective, ReplicaMemory& memory, int iteration);

}  // namespace podium::numeric
