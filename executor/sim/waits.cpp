#include "executor/sim/waits.h"

#include <algorithm>

namespace podium::sim {

// Tasks behind a fold started at times behind it: what they waited for in the folded period seems to have
// started long before, and gets the rest of the wait.
void Waits::note(int processor, Ticks from, Moment until, const StartLog& log) {
  Ticks now = until.time;
  for (std::int32_t by = until.by; by != kNobody && now > from; by = log.after(by)) {
    const Ticks start = std::clamp(log.start(by), from, now);
    if (start < now) pieces_.push_back({processor, log.task(by), now - start});
    now = start;
  }
  if (now > from) pieces_.push_back({processor, kNobody, now - from});
}

void Waits::repeat(std::size_t first, std::int64_t times) {
  for (std::size_t i = first; i < pieces_.size(); ++i) pieces_[i].ticks *= 1 + times;
}

std::vector<std::map<std::int32_t, Ticks>> Waits::by_task(int processors) const {
  std::vector<std::map<std::int32_t, Ticks>> sums(processors);
  for (const Piece& piece : pieces_) sums[piece.processor][piece.task] += piece.ticks;
  return sums;
}

}  // namespace podium::sim
