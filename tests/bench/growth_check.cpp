#include "tests/bench/growth_check.h"

#include <algorithm>
#include <cstddef>

namespace podium::bench {

bool grows_too_fast(std::span<const double> costs, double allowance) {
  double most = allowance;
  for (std::size_t back = 1; back <= 2 && back < costs.size(); ++back) {
    const double before = costs[costs.size() - 1 - back];
    most *= kMostTimes;
    if (before > 1 && costs.back() > most * before) return true;
  }
  return false;
}

double allowance_of_walk(std::span<const double> costs) {
  double steepest = 1;
  for (std::size_t i = 1; i < costs.size(); ++i) steepest = std::max(steepest, costs[i] / costs[i - 1] / 10);
  return std::min(steepest, 2.0);
}

}  // namespace podium::bench
