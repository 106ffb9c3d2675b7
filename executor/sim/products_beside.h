// The products that exchanges of cut tensors can go beside.
#pragma once

#include <unordered_map>

#include "executor/program.h"
#include "executor/sim/block_cost.h"

namespace podium::sim {

/// Seconds of products.
using ProductsBeside = std::unordered_map<const executor::GroupCollective*, double>;

/// Of each exchange whose devices have parts of what the products of one block read, or read parts of what
/// they make: how long those take, on the first device. A kernel goes beside one exchange at a time. `costs`
/// are those of the Program's blocks.
ProductsBeside products_beside(const executor::Program& program,
                               const ir::IdMap<executor::BlockId, BlockCost>& costs);

/// How long an exchange holds its `members` up that takes so many seconds on its own: it goes in as many
/// pieces as there are members, and each has its own piece from the beginning, or keeps it in the end. What
/// goes side by side takes longer.
double held_up_seconds(double exchange, double products, int members);

}  // namespace podium::sim
