// Events for a trace: the steps that were walked, and the memory over time.
#pragma once

#include <span>
#include <vector>

#include "executor/program.h"
#include "executor/sim/memory_use.h"
#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"
#include "executor/sim/timeline.h"

namespace podium::sim {

/// The name of what a step does or moves: a block, an input or output, a tensor.
std::string what_of(const executor::Program& program, const executor::Step& step);

/// Holds a bounded number of events; later ones are left out.
class Events {
 public:
  explicit Events(const executor::Program& program) : program_(program), live_(program) {}

  void note(const Task& task, std::int64_t iteration, Span span);
  /// Notes that a Repeat has ended at `end`.
  void note_end(const executor::Step& repeat, Ticks end);
  /// Fills the timeline's events and memory curves. A curve begins with the memory that is always live.
  void put_into(Timeline& timeline) const;

 private:
  struct TimedChange {
    Ticks time = 0;
    int processor = 0;
    std::int64_t bytes = 0;
  };

  void note_memory(std::span<const MemoryChange> all, Ticks time);
  void note_exchange(const executor::CopyBetweenProcessors& step, const Event& common);

  const executor::Program& program_;
  LiveBuffers live_;
  std::vector<Event> events_;
  std::vector<TimedChange> changes_;
  int flows_ = 0;
  bool cut_ = false;
};

}  // namespace podium::sim
