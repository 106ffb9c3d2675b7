// How much more a stage may cost with ten times the nodes.
#pragma once

#include <span>

namespace podium::bench {

/// Ten times the nodes may cost so many times as much: n log n, and something for the caches.
inline constexpr double kMostTimes = 20;

/// Whether the last of `costs`, of a graph with ten times the nodes of the one before, is more than a linear
/// stage needs: above kMostTimes `allowance` times the one before, or kMostTimes^2 `allowance` times the one
/// before that. Costs of at most 1 are too small to compare with.
bool grows_too_fast(std::span<const double> costs, double allowance);

/// How many times kMostTimes the steepest step of a linear walk's costs takes beyond its ten: 1 to 2. A stage
/// has more memory for each node than the walk has, and meets the same caches with fewer nodes.
double allowance_of_walk(std::span<const double> costs);

}  // namespace podium::bench
