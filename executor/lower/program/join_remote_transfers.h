// Transfers with streaming memory that can be one exchange (semantics, section 2.1: enableMergeExchange).
#pragma once

#include "executor/program.h"
#include "executor/strategy.h"

namespace podium::lower {

/// Makes one step of the loads, or of the stores, of several processors of a sync group, where nothing but
/// steps of single processors is between them. Steps of different processors change places for that; those of
/// one processor keep their order, and so does all that meets the host. Comes before plan_memory.
void join_remote_transfers(executor::Program& program, SyncPattern sync);

}  // namespace podium::lower
