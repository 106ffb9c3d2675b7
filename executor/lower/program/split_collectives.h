// Exchanges between replicas as ops of a graph, and what becomes of them in a Program.
#pragma once

#include "executor/program.h"

namespace podium::lower {

/// An op that only lowering knows: exchanges a value between the replicas of a group.
ir::Op collective_op(executor::CollectiveKind kind, executor::CollectiveReduction reduction,
                     const ir::ReplicaGroup& group, ir::ValueId from, ir::ValueId to);

bool is_collective(const ir::Op& op);
/// What such an op asks for, its transfer left out.
executor::Collective collective_of(const ir::Op& op);

/// Splits the blocks that hold such ops: what comes before, the exchanges, what comes behind. Comes before
/// plan_memory.
void split_collectives(executor::Program& program);

}  // namespace podium::lower
