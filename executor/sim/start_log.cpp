#include "executor/sim/start_log.h"

#include <algorithm>

namespace podium::sim {
namespace {

// Goes back in time and adds up what it passes. Inside a window, which is the period of a folded loop, all
// counts as often as the loop has gone through that period.
class WayBack {
 public:
  explicit WayBack(Ticks end) : now_(end) {}

  // Jumps over the repetitions that were not walked, to the end of the period that stands for them.
  void enter(Ticks period, std::int64_t times) {
    now_ -= times * period;
    windows_.push_back({now_ - period, weight_});
    weight_ *= 1 + times;
  }

  // The time from `start` to where the way is now, as often as it counts.
  std::int64_t back_to(Ticks start) {
    std::int64_t ticks = 0;
    while (!windows_.empty() && windows_.back().until >= start) {
      ticks += step_to(windows_.back().until);
      weight_ = windows_.back().weight_before;
      windows_.pop_back();
    }
    return ticks + step_to(start);
  }

 private:
  struct Window {
    Ticks until = 0;
    std::int64_t weight_before = 1;
  };

  std::int64_t step_to(Ticks start) {
    if (start >= now_) return 0;
    const std::int64_t ticks = weight_ * (now_ - start);
    now_ = start;
    return ticks;
  }

  Ticks now_;
  std::int64_t weight_ = 1;
  std::vector<Window> windows_;
};

}  // namespace

std::int32_t StartLog::add(std::int32_t task, std::int32_t after, Ticks start) {
  starts_.push_back({task, after, start});
  return size() - 1;
}

void StartLog::fold(std::int32_t first, Ticks period, std::int64_t times) {
  folds_.push_back({first, size(), period, times});
}

// Tasks of a folded period stand at their times before the fold, and all after it at times behind it, so that
// a step back from a task behind the fold to one of the period crosses the fold.
std::vector<std::int64_t> StartLog::ticks_on_path(Moment end, std::size_t tasks) const {
  std::vector<std::int64_t> ticks(tasks, 0);
  WayBack way(end.time);
  auto fold = folds_.rbegin();
  for (std::int32_t number = end.by; number != kNobody; number = starts_[number].after) {
    for (; fold != folds_.rend() && fold->end > number; ++fold) {
      if (fold->first <= number) way.enter(fold->period, fold->times);
    }
    ticks[starts_[number].task] += way.back_to(starts_[number].start);
  }
  return ticks;
}

}  // namespace podium::sim
