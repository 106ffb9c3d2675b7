// The slots of a loop between two iterations.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"

namespace podium::sim {

/// Slots of a ring by index, ascending; or all of them.
struct RingSlots {
  bool all = true;
  std::vector<int> some = {};
};

/// The slots of a ring that have times of their own before an iteration from `first` to `end`: those that the
/// iterations in between come to, and those that were `late` before the first one. The others are at rest:
/// their times are before the loop's earliest lane, and stay as they are.
RingSlots moving_slots(const Ring& ring, const std::vector<int>& late, std::int64_t first, std::int64_t end);

/// The slots of one ring before some iteration. The place of a slot is its distance from the slot that the
/// iteration begins at.
class RingState {
 public:
  /// `moving`: slots that are not at rest from this iteration up to the last one that is asked for.
  RingState(const Ring& ring, TaskClock& clock, std::int64_t iteration, RingSlots moving = {});

  /// True when the slots, before iteration number `iteration`, have the times they had then, measured from
  /// `base_now` instead of `base_then`; times before the base are all equal. Steps must come to the same
  /// places, too.
  bool same_as_now(std::int64_t iteration, Ticks base_then, Ticks base_now) const;
  /// Appends the places of values written since then, ascending, each with how much longer the chain to it is
  /// than the chain at the same place then.
  void add_growth(std::int64_t iteration, std::vector<Ticks>& growth) const;
  /// Moves the slots on by `count` more periods like the one since then, each `period_ticks` long. Gives the
  /// longest chain to any slot.
  Ticks repeat(std::int64_t iteration, std::int64_t count, Ticks period_ticks) const;

 private:
  std::int64_t index(std::int64_t place, std::int64_t iteration) const;
  SlotTimes& now(std::int64_t index) const { return clock_->slots[ring_->first + index]; }
  const SlotTimes& then(std::int64_t index) const;
  std::int64_t moving(std::size_t number) const {
    return moving_.all ? static_cast<std::int64_t>(number) : moving_.some[number];
  }
  Ticks growth_at(std::int64_t index, std::int64_t iteration) const;

  const Ring* ring_;
  TaskClock* clock_;
  std::int64_t iteration_;
  RingSlots moving_;
  std::vector<SlotTimes> then_;  ///< of the moving slots
};

}  // namespace podium::sim
