// The way back from the end of a run, in words of the Program.
#pragma once

#include <vector>

#include "executor/program.h"
#include "executor/sim/costs.h"
#include "executor/sim/start_log.h"
#include "executor/sim/tasks.h"
#include "executor/sim/timeline.h"

namespace podium::sim {

/// The parts of Timeline::path. A block's time is that of its ops, where its cost says what they take.
std::vector<PathPart> path_of(const executor::Program& program, const Costs& costs, const Tasks& tasks,
                              const StartLog& log, Moment end);

}  // namespace podium::sim
