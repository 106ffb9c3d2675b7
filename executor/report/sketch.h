// A timeline in so few bytes that thirty of them fit onto the page of a comparison.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "executor/sim/timeline.h"

namespace podium::report {

/// A step cut into kSketchBins equal times.
inline constexpr int kSketchBins = 480;

struct Sketch {
  /// Of each of the first processors, a letter a bin: 'a' and on for the activity of the compute lane that
  /// takes most of it (in the order of sim::Activity), '.' where the lane mostly waits, '~' for iterations
  /// that repeat those before.
  std::vector<std::string> lanes = {};
  std::vector<std::int64_t> memory = {};  ///< of the fullest processor: the most bytes of each bin
};

/// Of a timeline with events.
Sketch sketch_of(const sim::Timeline& timeline);

/// `sketch` of a strategy in the data of a page.
nlohmann::json to_json(const Sketch& sketch);

}  // namespace podium::report
