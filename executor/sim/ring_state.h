// The slots of a loop between two iterations.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"

namespace podium::sim {

/// The slots of one ring before some iteration. The place of a slot is its distance from the slot that the
/// iteration begins at.
class RingState {
 public:
  RingState(const Ring& ring, TaskClock& clock, std::int64_t iteration);

  /// True when the slots, before iteration number `iteration`, have the times they had then, measured from
  /// `base_now` instead of `base_then`; times before the base are all equal. Steps must come to the same
  /// places, too.
  bool same_as_now(std::int64_t iteration, Ticks base_then, Ticks base_now) const;
  /// Appends for each place by how much the chain to a value written since then is longer than the chain at
  /// the same place then.
  void add_growth(std::int64_t iteration, std::vector<Ticks>& growth) const;
  /// Moves the slots on by `count` more periods like the one since then, each `period_ticks` long. Gives the
  /// longest chain to any slot.
  Ticks repeat(std::int64_t iteration, std::int64_t count, Ticks period_ticks) const;

 private:
  std::int64_t index(std::int64_t place, std::int64_t iteration) const;
  SlotTimes& now(std::int64_t index) const { return clock_->slots[ring_->first + index]; }
  bool is_written(std::int64_t index) const { return now(index).ready != then_[index].ready; }
  bool is_used(std::int64_t index) const { return now(index).free != then_[index].free; }

  const Ring* ring_;
  TaskClock* clock_;
  std::int64_t iteration_;
  std::vector<SlotTimes> then_;  ///< by index
};

}  // namespace podium::sim
