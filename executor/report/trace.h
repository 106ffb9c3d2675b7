// A timeline for Perfetto and chrome://tracing: Chrome's JSON trace format.
#pragma once

#include <iosfwd>

#include "executor/sim/timeline.h"

namespace podium::report {

/// Writes `timeline`, which was simulated with events, piece by piece: a track per processor and lane, a
/// memory counter per processor, an arrow from each sender to its receivers; times in microseconds. The same
/// timeline gives the same bytes.
void write_trace(const sim::Timeline& timeline, std::ostream& out);

}  // namespace podium::report
