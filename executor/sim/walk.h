// Walks tasks through a clock, in program order, and each loop only until it repeats itself.
#pragma once

#include <cstdint>

#include "executor/sim/events.h"
#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"

namespace podium::sim {

/// Runs all tasks. A loop is walked until its state after an iteration, relative to the time, equals an
/// earlier one; the remaining iterations follow by multiplication, but never past an iteration in which a
/// store to the host moves after some that did not. `events` may be null. Returns the number of iterations
/// that were not walked.
std::int64_t walk(const Tasks& tasks, TaskClock& clock, Events* events);

}  // namespace podium::sim
