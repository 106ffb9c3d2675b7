// The state of a loop between two iterations. It tells when the loop repeats itself, and lets the clock go on
// without walking.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/sim/ring_state.h"
#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"

namespace podium::sim {

/// The clock of the earliest lane of a part.
Ticks earliest_lane(const LoopPart& part, const TaskClock& clock);

/// A part of a loop before the first of iterations that are alike: where each of its rings is not at rest.
class LoopStart {
 public:
  LoopStart(const LoopPart& part, TaskClock& clock, std::int64_t iteration);
  /// Of the ring with this number, up to iteration `end`.
  RingSlots moving_slots(std::size_t ring, std::int64_t end) const;

 private:
  const LoopPart* part_;
  std::int64_t iteration_;
  std::vector<std::vector<int>> late_;  ///< slots of each ring with a stride
};

/// All that the next iterations of a part of a loop depend on. Times count from the clock of the part's
/// earliest lane: earlier times have no effect any more.
class LoopState {
 public:
  /// Takes the state now, before iteration number `iteration`, for comparisons up to iteration number `end`.
  /// `part` and `clock` outlive it.
  LoopState(const LoopPart& part, TaskClock& clock, std::int64_t iteration, const LoopStart& start,
            std::int64_t end);

  std::int64_t iteration() const { return iteration_; }
  /// True when the clock, now before iteration number `iteration`, stands as it did then, only later: the
  /// iterations in between are a period.
  bool same_as_now(std::int64_t iteration) const;
  /// How often, at most `most` times, the period may be repeated until an offer to the host moves data that
  /// the period's offer did not move, or the other way round.
  std::int64_t times_more(const Tasks& tasks, std::int64_t most) const;
  /// The growth since then of the longest chains of data, to each slot and over all.
  std::vector<Ticks> chain_growth(std::int64_t iteration) const;
  /// Moves the clock on by `times` repetitions of the period that ends now, before iteration number
  /// `iteration`. Chains of data grow as they did in the period, and no faster than the clock.
  void repeat(std::int64_t iteration, std::int64_t times) const;

 private:
  /// The times of the part in the clock, except those of its slots.
  std::vector<Ticks*> times() const;
  Ticks earliest_lane() const { return sim::earliest_lane(*part_, *clock_); }
  bool uses_both_lanes(int processor) const;
  void repeat_tallies(std::int64_t times, Ticks period_ticks) const;
  Ticks overlap_alone(int processor, const Tally& then, const Tally& now, std::int64_t times,
                      Ticks period_ticks) const;

  const LoopPart* part_;
  TaskClock* clock_;
  std::int64_t iteration_;
  Ticks base_ = 0;  ///< the earliest lane's clock
  std::vector<Ticks> times_;
  std::vector<RingState> rings_;
  std::int32_t first_walked_ = 0;  ///< number of the first walked task since then (StartLog)
  std::size_t first_wait_ = 0;     ///< and of the first piece of a wait (Waits)
  Ticks critical_path_ = 0;
  std::vector<std::int64_t> offers_;
  std::vector<Overlap> overlaps_;  ///< as LoopPart::processors
  std::vector<Tally> tallies_;     ///< as LoopPart::processors
  std::vector<LinkTally> link_tallies_;
};

}  // namespace podium::sim
