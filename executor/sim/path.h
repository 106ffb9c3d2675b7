// The way back from the end of a run, in words of the Program.
#pragma once

#include <vector>

#include "executor/program.h"
#include "executor/sim/costs.h"
#include "executor/sim/start_log.h"
#include "executor/sim/tasks.h"
#include "executor/sim/timeline.h"
#include "executor/sim/waits.h"

namespace podium::sim {

/// The parts of Timeline::path. A block's time is that of its ops, where its cost says what they take.
std::vector<PathPart> path_of(const executor::Program& program, const Costs& costs, const Tasks& tasks,
                              const StartLog& log, Moment end);

/// Behind a thousand stages a processor waits for each of them.
inline constexpr std::size_t kMostAwaited = 10;

/// What the compute lane of each processor waited for, the most first, and no more than kMostAwaited.
std::vector<std::vector<Awaited>> awaited_by(const executor::Program& program, const Tasks& tasks,
                                             const Waits& waits);

}  // namespace podium::sim
