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

  // The time from `start` to where the way is now, as often as it counts, and how often the start does, which
  // lies inside a window that begins with it.
  OnPath back_to(Ticks start) {
    OnPath passed;
    for (; !windows_.empty() && windows_.back().until > start; leave())
      passed.ticks += step_to(windows_.back().until);
    passed.ticks += step_to(start);
    passed.times = weight_;
    while (!windows_.empty() && windows_.back().until >= start) leave();
    return passed;
  }

 private:
  struct Window {
    Ticks until = 0;
    std::int64_t weight_before = 1;
  };

  void leave() {
    weight_ = windows_.back().weight_before;
    windows_.pop_back();
  }

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
std::vector<OnPath> StartLog::on_path(Moment end, std::size_t tasks) const {
  std::vector<OnPath> found(tasks);
  WayBack way(end.time);
  auto fold = folds_.rbegin();
  for (std::int32_t number = end.by; number != kNobody; number = starts_[number].after) {
    for (; fold != folds_.rend() && fold->end > number; ++fold) {
      if (fold->first <= number) way.enter(fold->period, fold->times);
    }
    const OnPath passed = way.back_to(starts_[number].start);
    OnPath& task = found[starts_[number].task];
    task.ticks += passed.ticks;
    task.times += passed.times;
  }
  return found;
}

}  // namespace podium::sim
