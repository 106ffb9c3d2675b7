// When the stages of a pipeline compute.
#pragma once

#include <cstdint>
#include <vector>

namespace podium::lower {

/// A cycle has beats: what is computed in one is copied to other processors at its end.
struct Moment {
  int cycle = 0;
  int beat = 0;
  friend bool operator==(const Moment&, const Moment&) = default;
};

/// Micro-batch m meets each stage m cycles after micro-batch 0. A stage that reads what another makes comes
/// at least a beat later.
struct PipelineSchedule {
  int beats = 1;  ///< of a cycle
  /// When a stage, of so many, computes micro-batch 0.
  Moment (*at)(int stage, int stages) = nullptr;
};

/// PopART's (semantics, section 4.2). Those that list orders instead are in executor/schedule.
PipelineSchedule lockstep();

/// Stash depth of each part of a pipeline that goes through its `parts` processors and back, as training
/// does: how many micro-batches of a value part i holds that its stage of the backward pass reads, of
/// `micro_batches` at most.
std::vector<std::int64_t> stash_depths(const PipelineSchedule& schedule, int parts, int micro_batches);

}  // namespace podium::lower
