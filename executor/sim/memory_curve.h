// Memory over time, from the changes that a walk noted.
#pragma once

#include <vector>

#include "executor/program.h"
#include "executor/sim/memory_use.h"
#include "executor/sim/ticks.h"
#include "executor/sim/timeline.h"

namespace podium::sim {

struct TimedChange {
  Ticks time = 0;
  MemoryChange change = {};
  executor::BlockId block = {};  ///< whose inside it is, where it has no buffer
};

/// Of each processor, in the order in which they were noted.
using ChangesOfProcessors = std::vector<std::vector<TimedChange>>;

/// Fills the memory curves of the timeline, which begin with what is always live, and the lives of the
/// tensors that at some moment are among the eight largest of their processor. Where there are more changes
/// than anybody draws, two million, curves keep of equal stretches of time the highest point and the last,
/// and only lives that have one of these in them. Linear in the changes.
void draw_memory(const executor::Program& program, ChangesOfProcessors changes, Timeline& timeline);

/// At most about `most` points: of equal stretches of `makespan` the highest and the last.
std::vector<MemoryPoint> thinned(const std::vector<MemoryPoint>& curve, double makespan, std::size_t most);

}  // namespace podium::sim
