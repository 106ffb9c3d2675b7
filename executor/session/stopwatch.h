// Real time, for progress and reports.
#pragma once

#include <chrono>

namespace podium {

using WallClock = std::chrono::steady_clock;

inline double seconds_since(WallClock::time_point start) {
  return std::chrono::duration<double>(WallClock::now() - start).count();
}

}  // namespace podium
