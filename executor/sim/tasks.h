// A Program in the form that the clock walks: the time and the resources of each step, and what an iteration
// of each Repeat touches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/acting.h"
#include "executor/program.h"
#include "executor/sim/costs.h"
#include "executor/sim/ticks.h"
#include "executor/sim/timeline.h"
#include "executor/slots.h"
#include "executor/strategy.h"

namespace podium::sim {

/// A lane that a task keeps busy from its start to its end. Lanes are numbered 2 x processor + lane.
struct LaneUse {
  int processor = 0;
  Lane lane = Lane::Compute;
  std::int64_t bytes = 0;  ///< that this processor sends and receives
  bool is_held = true;     ///< else the task only says whose bytes it moves, beside whatever the lane does
  int number() const { return 2 * processor + static_cast<int>(lane); }
};

/// Slots of all buffers are numbered through; a buffer's are consecutive. Behind them come slots that are no
/// memory and bound what runs ahead; their buffers are numbered behind the Program's.
struct SlotUse {
  executor::BufferId buffer;
  int first = 0;  ///< number of the buffer's slot 0
  int slots = 1;
  int index = 0;
  int stride = 0;
  Ticks early = 0;  ///< before its writer's end, for collectives that begin as soon as what they read is made
  int number(std::int64_t iteration) const {
    if (stride == 0) return first + index;
    return first + executor::slot_for(index + stride * iteration, slots);
  }
};

struct LinkHold {
  int link = 0;  ///< place in Tasks::links
  Ticks ticks = 0;
  std::int64_t bytes = 0;
  Ticks backlog = 0;  ///< LinkLoad::backlog_seconds
  /// What goes through takes less than half of the task's time, beside what other tasks send: none of them
  /// waits for the link.
  bool has_room = false;
};

/// The processors of a sync group are the even ones, the odd ones, or both. A half has a barrier for each
/// lane; these four are numbered 2 x (processor modulo 2) + lane.
inline constexpr int kBarriers = 4;
using BarrierSet = std::uint8_t;  ///< a bit a barrier

struct Task {
  const executor::Step* step = nullptr;
  std::int32_t number = 0;  ///< place in Tasks::tasks
  /// An exchange of which some transfers act in some iterations only: see Tasks::acting.
  bool has_parts = false;
  Activity activity = Activity::Compute;
  Ticks ticks = 0;
  std::span<const LaneUse> lanes = {};  ///< the lists are in Tasks::lists
  BarrierSet barriers = 0;              ///< that it waits for and holds until its end
  std::span<const SlotUse> reads = {};
  std::span<const SlotUse> writes = {};
  std::span<const LinkHold> links = {};
  std::span<const executor::Transfer> transfers = {};  ///< of an exchange
  int output = -1;  ///< place in Tasks::outputs of what the task offers to the host
  std::int64_t sent = 0;
  std::int64_t received = 0;
};

/// One step in order: a task, or a loop when `task` is -1.
struct Item {
  int task = -1;
  int loop = -1;
};

/// The slots of a buffer from the first to the last that a loop uses; all of them where it goes round. Where
/// all uses go round the ring with one stride, the state after an iteration is compared relative to the slot
/// that the next iteration begins at; else `stride` is 0.
struct Ring {
  int first = 0;
  int slots = 1;
  int stride = 0;
  int turn = 1;                  ///< after so many iterations all uses are where they were, relative to that
  std::vector<int> starts = {};  ///< with a stride: the slots that uses come to in iteration 0, from `first`
};

/// Steps of a loop's body that share no lane, link, barrier or slot with the other steps.
struct LoopPart {
  std::vector<Item> items;
  std::vector<int> lanes;       ///< that its tasks keep busy
  std::vector<int> processors;  ///< that they run on, or whose bytes they move
  std::vector<int> passing;     ///< processors whose bytes go beside what their lanes do
  BarrierSet barriers = 0;
  std::vector<int> links;
  std::vector<Ring> rings;
  std::int64_t slots = 0;    ///< of its rings
  std::vector<int> outputs;  ///< that it offers to the host
};

struct Loop {
  const executor::Step* step = nullptr;
  std::int64_t count = 0;
  /// The iterations up to which all are alike, ascending, the last one `count`: turns_of.
  std::vector<std::int64_t> stretches;
  std::vector<Item> items;      ///< in program order
  std::vector<LoopPart> parts;  ///< the same items
};

/// The iterations in which the store of an output, or of a part of it, really moves (HostTensor::every,
/// slices).
struct OutputRhythm {
  std::int64_t quiet = 0;   ///< so many offers move nothing
  std::int64_t period = 1;  ///< then the rest of so many move
};

struct Tasks {
  /// What an exchange of several parts is in an iteration: a task of the same number with the transfers that
  /// act, or nothing. Valid until the next call. So the parts take no more memory than the whole.
  std::function<std::optional<Task>(const Task& whole, std::int64_t iteration)> acting;
  /// Room for the lists of the tasks, of which there may be millions: it grows, and goes as a whole.
  std::unique_ptr<std::pmr::monotonic_buffer_resource> lists =
      std::make_unique<std::pmr::monotonic_buffer_resource>();
  std::vector<Task> tasks;
  std::vector<Loop> loops;
  std::vector<Item> items;
  std::vector<OutputRhythm> outputs;
  int processors = 1;
  int slots = 0;
  std::vector<LinkId> links;
};

/// Which of the items of a body act in its iterations.
executor::Acting acting_of(const Tasks& tasks, const std::vector<Item>& items);

/// `program` and `costs` outlive the result.
Tasks make_tasks(const executor::Program& program, const Costs& costs, SyncPattern sync);

}  // namespace podium::sim
