// The simulator's time: whole picoseconds, so that sums are exact and a steady state repeats to the last
// digit.
#pragma once

#include <cmath>
#include <cstdint>

#include "ir/error.h"

namespace podium::sim {

using Ticks = std::int64_t;
inline constexpr double kTicksPerSecond = 1e12;

inline constexpr int kLongestRunDays = 30;
inline constexpr Ticks kLongestRun = Ticks{kLongestRunDays} * 24 * 3600 * 1'000'000'000'000;

/// Error for a time longer than the longest run: sums of a few such times stay far from the end of the
/// numbers.
inline Ticks to_ticks(double seconds) {
  IR_CHECK(seconds >= 0);
  if (!(seconds * kTicksPerSecond < static_cast<double>(kLongestRun))) {
    throw Error("a step takes {} seconds: no more than {} days can be clocked", seconds, kLongestRunDays);
  }
  return std::llround(seconds * kTicksPerSecond);
}

inline double to_seconds(Ticks ticks) { return static_cast<double>(ticks) / kTicksPerSecond; }

}  // namespace podium::sim
