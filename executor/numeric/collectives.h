// What the replicas of a group do together.
#pragma once

#include <vector>

#include "executor/numeric/memory.h"

namespace podium::numeric {

/// Part number `rank` of a tensor, flat, zeros behind the end (semantics, section 7.3). The size of `part`
/// decides how many parts there are.
void cut_part(const ir::Tensor& whole, int rank, ir::Tensor& part);

/// The parts of all members, in their order, as a tensor of `type`.
ir::Tensor join_parts(const std::vector<ir::Tensor>& parts, const ir::Type& type);

/// `memories` has one entry a replica. Sums are over the replicas of a group in their order.
void run_collective(const executor::Program& program, const executor::Step& step,
                    const executor::Collective& collective, std::vector<Memory>& memories, int iteration);

}  // namespace podium::numeric
