// How much a run in phases computes for each byte that it moves from and to streaming memory.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

namespace podium::report {

/// Of a step, one replica: what is computed and moved while the phase runs. Phase -1 comes before the first.
struct PhaseWork {
  int phase = 0;
  double flop = 0;
  double bytes = 0;  ///< loaded and stored
};

/// The FLOP for each byte between which a phase of 16-bit products on a Mk2 keeps its processor and its way
/// to streaming memory about as busy (docs/cost-model.md).
inline constexpr double kBalancedLeast = 3750;
inline constexpr double kBalancedMost = 7500;

/// `phases[]` of the JSON report.
nlohmann::json to_json(const std::vector<PhaseWork>& phases);

}  // namespace podium::report
