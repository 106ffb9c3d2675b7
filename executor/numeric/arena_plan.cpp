#include "executor/numeric/arena_plan.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

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

// Memory that is given out and taken back: the smallest piece that is large enough, or more at the end.
class FreePieces {
 public:
  std::size_t take(std::size_t bytes) {
    const auto fitting = by_size_.lower_bound({bytes, 0});
    if (fitting == by_size_.end()) {
      const std::size_t offset = end_;
      end_ += bytes;
      return offset;
    }
    const auto [size, offset] = *fitting;
    remove(offset, size);
    if (size > bytes) add(offset + bytes, size - bytes);
    return offset;
  }
  void give_back(std::size_t offset, std::size_t bytes) {
    auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + bytes) {
      const auto [next, size] = *after;
      bytes += size;
      remove(next, size);
      after = by_offset_.lower_bound(offset);
    }
    if (after != by_offset_.begin()) {
      const auto [before, size] = *std::prev(after);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    add(offset, bytes);
  }
  std::size_t bytes() const { return end_; }

 private:
  void add(std::size_t offset, std::size_t bytes) {
    by_offset_.emplace(offset, bytes);
    by_size_.emplace(bytes, offset);
  }
  void remove(std::size_t offset, std::size_t bytes) {
    by_offset_.erase(offset);
    by_size_.erase({bytes, offset});
  }

  std::map<std::size_t, std::size_t> by_offset_;           // to their bytes
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // and offset
  std::size_t end_ = 0;
};

// In the order of time: a little more memory, in time that grows with the values and not with their square.
ArenaPlan plan_by_time(const std::vector<Lifetime>& lifetimes) {
  std::vector<std::size_t> order(lifetimes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return lifetimes[a].first < lifetimes[b].first; });
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size());
  FreePieces pieces;
  std::set<std::pair<int, std::size_t>> live;  // last use and value
  for (std::size_t current : order) {
    const Lifetime& mine = lifetimes[current];
    while (!live.empty() && live.begin()->first < mine.first) {
      const std::size_t dead = live.begin()->second;
      pieces.give_back(plan.offsets[dead], aligned(lifetimes[dead].bytes));
      live.erase(live.begin());
    }
    if (mine.bytes == 0) continue;
    plan.offsets[current] = pieces.take(aligned(mine.bytes));
    live.emplace(mine.last, current);
  }
  plan.bytes = pieces.bytes();
  return plan;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  constexpr std::size_t kMostCompared = 1 << 14;
  if (lifetimes.size() > kMostCompared) return plan_by_time(lifetimes);
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
