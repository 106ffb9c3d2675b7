#include "executor/numeric/arena_plan.h"

#include <algorithm>
#include <numeric>

namespace podium::numeric {
namespace {

constexpr std::size_t kAlignment = 64;

struct Placed {
  std::size_t begin;
  std::size_t end;
  int first;
  int last;
};

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size());
  // Sorted by offset and side by side in memory: every value looks through all of it.
  std::vector<Placed> placed;
  placed.reserve(lifetimes.size());
  for (std::size_t current : order) {
    const Lifetime& mine = lifetimes[current];
    const std::size_t bytes = aligned(mine.bytes);
    std::size_t offset = 0;
    for (const Placed& other : placed) {
      if (other.last < mine.first || mine.last < other.first) continue;
      if (offset + bytes <= other.begin) break;
      offset = std::max(offset, other.end);
    }
    plan.offsets[current] = offset;
    plan.bytes = std::max(plan.bytes, offset + bytes);
    const auto where =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [](std::size_t value, const Placed& other) { return value < other.begin; });
    placed.insert(where, {offset, offset + bytes, mine.first, mine.last});
  }
  return plan;
}

}  // namespace podium::numeric
