#include "executor/sim/overlap.h"

#include <algorithm>

namespace podium::sim {
namespace {

Ticks common(const Interval& a, const Interval& b) {
  const Ticks both = std::min(a.end, b.end) - std::max(a.start, b.start);
  if (both <= 0) return 0;
  double share = 1;
  for (const Interval* one : {&a, &b}) {
    share *= static_cast<double>(one->busy) / static_cast<double>(one->end - one->start);
  }
  return share == 1 ? both : std::llround(share * static_cast<double>(both));
}

void forget(std::deque<Interval>& intervals, Ticks before) {
  while (!intervals.empty() && intervals.front().end <= before) intervals.pop_front();
}

}  // namespace

Ticks Overlap::meet(Ticks compute_now, Ticks io_now) {
  Ticks both = 0;
  while (!compute.empty() && !io.empty()) {
    const Interval& a = compute.front();
    const Interval& b = io.front();
    both += common(a, b);
    if (a.end <= b.end) {
      compute.pop_front();
    } else {
      io.pop_front();
    }
  }
  forget(compute, io_now);
  forget(io, compute_now);
  return both;
}

}  // namespace podium::sim
