// How long the two lanes of a processor work at the same time.
#pragma once

#include <deque>

#include "executor/sim/ticks.h"

namespace podium::sim {

/// A time in which a lane works, or does so for `busy` of it, spread evenly: iterations that were not walked.
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

  /// Time that both lanes work, as far as it was not told before. No later interval of a lane begins before
  /// its
  /// `..._now`; what has passed by then is forgotten.
  Ticks meet(Ticks compute_now, Ticks io_now);
};

}  // namespace podium::sim
