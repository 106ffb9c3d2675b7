// What let each task of a walk start: the way back from the end of a run to its beginning.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/sim/ticks.h"

namespace podium::sim {

/// Nobody: the host's call, with which a run begins.
inline constexpr std::int32_t kNobody = -1;

/// A moment, and the number of the walked task that made it so late.
struct Moment {
  Ticks time = 0;
  std::int32_t by = kNobody;
  operator Ticks() const { return time; }
};
/// The later one; the first of two at the same time.
inline Moment later(Moment a, Moment b) { return b.time > a.time ? b : a; }

/// How long a task was what the end of a run waited for, and how often.
struct OnPath {
  std::int64_t ticks = 0;
  std::int64_t times = 0;
  bool operator==(const OnPath&) const = default;
};

/// Walked tasks in their order, and the loops that were folded among them.
class StartLog {
 public:
  /// Notes that a task starts, which waited for walked task number `after` last. Gives its number.
  std::int32_t add(std::int32_t task, std::int32_t after, Ticks start);
  /// Notes that walked tasks from number `first` on are a period of `period` ticks, which comes `times` times
  /// more without being walked.
  void fold(std::int32_t first, Ticks period, std::int64_t times);
  std::int32_t size() const { return static_cast<std::int32_t>(starts_.size()); }
  /// The walked task that let task number `number` start last, an earlier one or kNobody.
  std::int32_t after(std::int32_t number) const { return starts_[number].after; }

  /// The number of the Program's task (Task::number) that it was, and when it started.
  std::int32_t task(std::int32_t number) const { return starts_[number].task; }
  Ticks start(std::int32_t number) const { return starts_[number].start; }

  /// Goes back from the end of the run, which walked task number `end.by` made so late, to its beginning, and
  /// gives for each of `tasks` tasks when it was what the end waited for. In a loop that was folded the way
  /// through the period counts for all of its repetitions. What is missing to `end` is the host's call.
  std::vector<OnPath> on_path(Moment end, std::size_t tasks) const;

 private:
  struct Start {
    std::int32_t task = 0;
    std::int32_t after = kNobody;
    Ticks start = 0;
  };
  struct Fold {
    std::int32_t first = 0;
    std::int32_t end = 0;  ///< behind the last walked task of the period
    Ticks period = 0;
    std::int64_t times = 0;
  };

  std::vector<Start> starts_;
  std::vector<Fold> folds_;  ///< by `end`
};

}  // namespace podium::sim
