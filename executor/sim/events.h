// Events for a trace: the steps that were walked, and the memory over time.
#pragma once

#include <span>
#include <vector>

#include "executor/program.h"
#include "executor/sim/memory_curve.h"
#include "executor/sim/memory_use.h"
#include "executor/sim/start_log.h"
#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"
#include "executor/sim/timeline.h"

namespace podium::sim {

/// The name of what a step does or moves on a processor that takes part: a block, an input or output, a
/// tensor, or the largest of several.
std::string what_of(const executor::Program& program, const executor::Step& step, int processor);

/// Holds a bounded number of events; later ones are left out.
class Events {
 public:
  explicit Events(const executor::Program& program) : program_(program), live_(program) {}

  /// `number` is that of the walked task (StartLog).
  void note(const Task& task, std::int64_t iteration, Span span, std::int32_t number);
  /// Notes that a Repeat has ended at `end`.
  void note_end(const executor::Step& repeat, Ticks end);
  /// Notes that a lane skips iterations that repeat a steady state.
  void note_fold(int lane, Span span, std::int64_t iterations);
  /// Fills the timeline's events, folds and memory curves. A curve begins with the memory that is always
  /// live. The log is of the walk that ended at `end`.
  void put_into(Timeline& timeline, const StartLog& log, Moment end) const;

 private:
  struct NotedEvent {
    Event event;
    std::int32_t number = 0;  ///< of the walked task
  };

  void note_memory(executor::BlockId block, std::span<const MemoryChange> all, Ticks time);
  void note_exchange(std::span<const executor::Transfer> transfers, const NotedEvent& common);
  void put_events_into(Timeline& timeline, const StartLog& log, Moment end) const;

  const executor::Program& program_;
  LiveBuffers live_;
  std::vector<NotedEvent> events_;
  std::vector<FoldedTime> folded_;
  std::vector<TimedChange> changes_;
  int flows_ = 0;
  bool cut_ = false;
};

}  // namespace podium::sim
