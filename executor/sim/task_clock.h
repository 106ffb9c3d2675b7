// Runs tasks for their time: a clock per lane, barrier, link and slot, and the account of what each lane did.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "executor/sim/overlap.h"
#include "executor/sim/start_log.h"
#include "executor/sim/tasks.h"
#include "executor/sim/ticks.h"
#include "executor/sim/timeline.h"
#include "executor/sim/waits.h"

namespace podium::sim {

/// What a processor has done so far: ticks, and bytes.
struct Tally {
  std::array<std::int64_t, kActivities> busy = {};
  std::array<std::int64_t, kIdles> idle = {};
  std::array<std::int64_t, kActivities> io_busy = {};
  std::array<std::int64_t, kActivities> bytes = {};
  std::int64_t overlapped = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;

  /// Adds what has been tallied since `then` so many times again.
  void repeat_since(const Tally& then, std::int64_t times);
};

struct LinkTally {
  std::int64_t busy = 0;
  std::int64_t bytes = 0;
  std::int64_t of_all_replicas = 0;  ///< bytes of collectives among them
};

struct SlotTimes {
  Ticks ready = 0;                  ///< the last write has ended, or has brought the value early
  Ticks free = 0;                   ///< the last read or write has ended
  Ticks chain = 0;                  ///< the longest way to its value by data alone
  std::int32_t ready_by = kNobody;  ///< walked tasks (StartLog) whose ends these are
  std::int32_t free_by = kNobody;
};

/// The clock of a barrier holds for all lanes of its group, so that an exchange of a thousand processors
/// costs no more to walk than one of two: a lane's own clock is brought up when the lane is used next.
struct BarrierTimes {
  Moment released = {};  ///< end of the last exchange
  Moment latest = {};    ///< the latest clock of its lanes
};

struct Span {
  Ticks start = 0;
  Ticks end = 0;
};

/// Whether a clock notes what processors wait for.
enum class Explains : std::uint8_t { Nothing, Waits };

class TaskClock {
 public:
  TaskClock(const Tasks& tasks, Ticks start, Explains explains = Explains::Nothing);

  /// Runs a task in iteration `iteration` of the innermost loop around it. The tasks of one lane come in
  /// their order. Gives its time span, empty where a store to the host moves nothing.
  Span run(const Task& task, std::int64_t iteration);
  /// Ends the run: every lane waits for the last.
  Moment finish();
  /// Brings a lane's own clock up to its barrier's.
  void settle(int lane);

  std::vector<Moment> lanes;   ///< by number
  std::vector<Moment> passed;  ///< by processor: the last end of what went beside its lanes
  std::array<BarrierTimes, kBarriers> barriers = {};
  std::vector<Moment> links;
  std::vector<SlotTimes> slots;
  std::vector<std::int64_t> offers;  ///< by output
  std::vector<Overlap> overlaps;     ///< by processor
  std::vector<Tally> tallies;        ///< by processor
  std::vector<LinkTally> link_tallies;
  Ticks critical_path = 0;
  Ticks first_output = 0;  ///< end of the stores of micro-batch 0
  StartLog log;
  std::optional<Waits> waits;  ///< where somebody asks for them

 private:
  void wait(int lane, Moment until, Idle reason);
  Moment when_filled(const Task& task, std::int64_t iteration) const;
  Moment when_synced(const Task& task) const;
  void touch_slots(const Task& task, std::int64_t iteration, Span span, std::int32_t number);
  void hold(const Task& task, Span span, std::int32_t number);
  void work(const Task& task, const LaneUse& use, Span span, std::int32_t number);
  void pass_by(const Task& task, const LaneUse& use, Span span, std::int32_t number);
  bool moves(const Task& task);

  const Tasks& tasks_;
  std::vector<bool> has_io_;   ///< processors whose IO lane is used
  std::vector<Ticks> chains_;  ///< chains of the running task's reads, with the task's time
};

}  // namespace podium::sim
