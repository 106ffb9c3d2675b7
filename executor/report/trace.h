// A timeline for Perfetto, speedscope and chrome://tracing: Chrome's JSON trace format.
#pragma once

#include <iosfwd>
#include <string>

#include "executor/sim/timeline.h"

namespace podium::report {

/// What a trace says of the run that it shows.
struct TraceFacts {
  std::string model = {};
  std::string strategy = {};
  std::string device = {};
  std::string program = {};  ///< "podium 0.1.0"
};

/// Writes `timeline`, which was simulated with events, piece by piece: a track per processor and lane, with
/// slices for steps, the ops inside blocks, waits, and iterations that are left out because they repeat; a
/// memory counter per processor; an arrow from each sender to its receivers. Times in microseconds. The same
/// timeline gives the same bytes.
void write_trace(const TraceFacts& facts, const sim::Timeline& timeline, std::ostream& out);

}  // namespace podium::report
