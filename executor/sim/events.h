// Events for a trace: the steps that were walked, and the memory over time.
#pragma once

#include <set>
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

/// Holds a bounded number of events: when there are too many, those of a lane that together are shorter than
/// a time become one, and the time doubles until there is room.
class Events {
 public:
  explicit Events(const executor::Program& program)
      : program_(program), live_(program), changes_(program.processors) {}

  /// `number` is that of the walked task (StartLog).
  void note(const Task& task, std::int64_t iteration, Span span, std::int32_t number);
  /// Notes that a Repeat has ended at `end`.
  void note_end(const executor::Step& repeat, Ticks end);
  /// Notes that a lane skips iterations that repeat a steady state.
  void note_fold(int lane, Span span, std::int64_t iterations);
  /// Fills the timeline's events, folds and memory curves, once. A curve begins with the memory that is
  /// always live. The log is of the walk that ended at `end`.
  void put_into(Timeline& timeline, const StartLog& log, Moment end);

 private:
  struct NotedEvent {
    Event event;
    std::int32_t number = 0;       ///< of the walked task
    std::int32_t last_number = 0;  ///< of the last one that has joined
    int steps = 1;                 ///< with those that have joined
    double longest = 0;            ///< seconds of the step that the event is called after
  };

  void add(NotedEvent noted);
  bool joins(const NotedEvent& before, const NotedEvent& noted) const;
  void join(NotedEvent& before, const NotedEvent& noted);
  void make_room();

  void note_memory(executor::BlockId block, std::span<const MemoryChange> all, Ticks time);
  void note_exchange(std::span<const executor::Transfer> transfers, const NotedEvent& common);
  void put_events_into(Timeline& timeline, const StartLog& log, Moment end) const;

  const executor::Program& program_;
  LiveBuffers live_;
  std::vector<NotedEvent> events_;
  std::vector<int> last_on_lane_;  ///< places in events_; by processor, then by lane
  std::set<int> broken_flows_;     ///< of exchanges that have joined other events
  double joined_below_ = 0;        ///< seconds
  std::vector<FoldedTime> folded_;
  ChangesOfProcessors changes_;
  std::size_t change_count_ = 0;
  int flows_ = 0;
};

}  // namespace podium::sim
