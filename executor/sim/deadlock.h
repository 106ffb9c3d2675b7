// Whether the steps of a Program can run at all in the order in which each processor has them.
#pragma once

#include "executor/program.h"
#include "executor/sim/tasks.h"

namespace podium::sim {

/// Every lane runs its steps in program order, and an exchange needs all its ends. So a step that reads a
/// slot which only a later step fills never starts if the later step waits for it, over lanes, data and sync
/// groups: InternalError with the cycle. InternalError as well when nothing fills the slot. A slot that a
/// step frees is empty again.
void check_no_deadlock(const executor::Program& program, const Tasks& tasks);

}  // namespace podium::sim
