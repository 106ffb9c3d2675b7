// How long the two lanes of a processor work at the same time.
#pragma once

#include <deque>

#include "executor/sim/ticks.h"

namespace podium::sim {

/// An interval in which a lane works; or works only for `busy` of it, spread evenly, which stands for
/// iterations that were not walked.
struct Interval {
  Ticks start = 0;
  Ticks end = 0;
  Ticks busy = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

/// The intervals of each lane come in order, those of the two lanes in any order.
struct Overlap {
  std::deque<Interval> compute = {};  ///< that later intervals of the other lane may meet
  std::deque<Interval> io = {};

  /// The time for which both lanes work, as far as no earlier call has given it. No later interval of a lane
  /// begins before its `..._now`; intervals that have ended by then are forgotten.
  Ticks meet(Ticks compute_now, Ticks io_now);
};

}  // namespace podium::sim
