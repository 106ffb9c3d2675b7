// Three plans, of which the best is taken. In the order of time, values take the smallest free piece that is
// large enough and give it back behind their last use, where it joins its neighbours: best fit. In an order of
// sizes, each goes to the lowest offset at which nothing lives while it does, among those before it.
#include "executor/numeric/arena_plan.h"

#include <algorithm>
#include <functional>
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

std::vector<std::size_t> sorted(std::size_t count,
                                const std::function<bool(std::size_t, std::size_t)>& comes_first) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), comes_first);
  return order;
}

// In time that grows with the values and not with their square. Knows what lives at once.
ArenaPlan plan_by_time(const std::vector<Lifetime>& lifetimes) {
  const std::vector<std::size_t> order = sorted(lifetimes.size(), [&](std::size_t a, std::size_t b) {
    return lifetimes[a].first < lifetimes[b].first;
  });
  ArenaPlan plan;
  plan.offsets.resize(lifetimes.size());
  FreePieces pieces;
  std::size_t live_bytes = 0;
  std::set<std::pair<int, std::size_t>> live;  // last use and value
  for (std::size_t current : order) {
    const Lifetime& mine = lifetimes[current];
    while (!live.empty() && live.begin()->first < mine.first) {
      const std::size_t dead = live.begin()->second;
      pieces.give_back(plan.offsets[dead], aligned(lifetimes[dead].bytes));
      live_bytes -= aligned(lifetimes[dead].bytes);
      live.erase(live.begin());
    }
    if (mine.bytes == 0) continue;
    plan.offsets[current] = pieces.take(aligned(mine.bytes));
    live.emplace(mine.last, current);
    live_bytes += aligned(mine.bytes);
    plan.bytes.live = std::max(plan.bytes.live, live_bytes);
  }
  plan.bytes.planned = pieces.bytes();
  return plan;
}

// Each to the lowest free offset, in time that grows with the square of the values.
ArenaPlan plan_in_order(const std::vector<Lifetime>& lifetimes, const std::vector<std::size_t>& order) {
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
    plan.bytes.planned = std::max(plan.bytes.planned, offset + bytes);
    const auto where =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [](std::size_t value, const Placed& other) { return value < other.begin; });
    placed.insert(where, {offset, offset + bytes, mine.first, mine.last});
  }
  return plan;
}

}  // namespace

ArenaPlan plan_arena(const std::vector<Lifetime>& lifetimes) {
  constexpr std::size_t kMostCompared = 1 << 14;
  ArenaPlan best = plan_by_time(lifetimes);
  if (lifetimes.size() > kMostCompared || best.bytes.planned == best.bytes.live) return best;
  const auto size = [&](std::size_t i) { return static_cast<double>(lifetimes[i].bytes); };
  const auto length = [&](std::size_t i) { return lifetimes[i].last - lifetimes[i].first + 1; };
  const auto take_better = [&](const std::function<bool(std::size_t, std::size_t)>& comes_first) {
    if (best.bytes.planned == best.bytes.live) return;
    ArenaPlan plan = plan_in_order(lifetimes, sorted(lifetimes.size(), comes_first));
    plan.bytes.live = best.bytes.live;
    if (plan.bytes.planned < best.bytes.planned) best = std::move(plan);
  };
  take_better([&](std::size_t a, std::size_t b) { return size(a) > size(b); });
  take_better([&](std::size_t a, std::size_t b) { return size(a) * length(a) > size(b) * length(b); });
  return best;
}

}  // namespace podium::numeric
