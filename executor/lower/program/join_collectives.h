// Exchanges between replicas that can be merged (semantics, section 2.1: replicatedCollectivesSettings).
#pragma once

#include "executor/program.h"

namespace podium::lower {

/// Puts collectives of one kind, group and processor behind each other: the later one comes up to the earlier
/// one, or the earlier one goes down to it, where no step between makes what it reads or uses what it writes.
/// What they read or give then waits in memory for longer. Comes before plan_memory.
void join_collectives(executor::Program& program);

}  // namespace podium::lower
