#include "executor/lower/strategies/schedule.h"

#include <algorithm>

namespace podium::lower {
namespace {

// Stage s computes micro-batch m in cycle m + s (semantics, section 4.2).
Moment in_lockstep(int stage, int) { return {.cycle = stage}; }

}  // namespace

PipelineSchedule lockstep() { return {.beats = 1, .at = in_lockstep}; }

std::vector<std::int64_t> stash_depths(const PipelineSchedule& schedule, int parts, int micro_batches) {
  const int stages = 2 * parts - 1;  // the last part's way there and back are one stage
  std::vector<std::int64_t> depths;
  for (int part = 0; part < parts; ++part) {
    const Moment forward = schedule.at(part, stages);
    const Moment backward = schedule.at(stages - 1 - part, stages);
    const int held = backward.cycle - forward.cycle + (forward.beat <= backward.beat ? 1 : 0);
    depths.push_back(std::min(held, micro_batches));
  }
  return depths;
}

}  // namespace podium::lower
