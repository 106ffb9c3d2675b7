#include "executor/numeric/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace podium::numeric {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  MemoryPlan plan;
  plan.offsets.resize(lifetimes.size());
  std::vector<std::size_t> placed;  // sorted by offset
  for (std::size_t current : order) {
    const Lifetime& mine = lifetimes[current];
    std::size_t offset = 0;
    for (std::size_t other : placed) {
      const Lifetime& theirs = lifetimes[other];
      if (theirs.last < mine.first || mine.last < theirs.first) continue;
      if (offset + aligned(mine.bytes) <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + aligned(theirs.bytes));
    }
    plan.offsets[current] = offset;
    plan.bytes = std::max(plan.bytes, offset + aligned(mine.bytes));
    const auto where = std::upper_bound(placed.begin(), placed.end(), offset, [&](std::size_t value, std::size_t other) {
      return value < plan.offsets[other];
    });
    placed.insert(where, current);
  }
  return plan;
}

}  // namespace podium::numeric
