// A dry run: slots are filled or empty, tasks run in program order, and each must find its inputs filled.
// Loops are run once round their largest ring and once more. When a task finds an empty slot, the explanation
// looks for the task behind it that fills the slot, and breadth-first from that task over lanes, sync groups
// and inputs back to the blocked one: a way back is a deadlock, told as a chain.
#include "executor/sim/deadlock.h"

#include <algorithm>
#include <map>
#include <queue>

#include "executor/acting.h"
#include "executor/sim/pending_frees.h"

namespace podium::sim {
namespace {

using executor::Program;
using executor::Step;

bool touches(std::span<const SlotUse> uses, int slot) {
  return std::any_of(uses.begin(), uses.end(),
                     [&](const SlotUse& use) { return slot >= use.first && slot < use.first + use.slots; });
}

bool share_lane(const Task& a, const Task& b) {
  return std::any_of(a.lanes.begin(), a.lanes.end(), [&](const LaneUse& one) {
    return std::any_of(b.lanes.begin(), b.lanes.end(), [&](const LaneUse& other) {
      return one.is_held && other.is_held && one.number() == other.number();
    });
  });
}

bool holds_back(const Task& exchange, const Task& earlier) {
  return std::any_of(earlier.lanes.begin(), earlier.lanes.end(), [&](const LaneUse& use) {
    return (exchange.barriers >> (use.number() % kBarriers) & 1) != 0;
  });
}

// Why a task never starts. Tasks are given by number, which is program order; all before `blocked` have run.
class Explanation {
 public:
  Explanation(const Program& program, const Tasks& tasks, int blocked)
      : program_(program), tasks_(tasks), blocked_(blocked) {}

  std::string text(int slot, const std::string& buffer) const {
    const int filler = first_writer(slot);
    if (filler < 0) return fmt::format("{} reads {}, which no step before it fills", name(blocked_), buffer);
    const std::vector<int> way = way_back(filler);
    if (way.empty())
      return fmt::format("{} reads {} before {} fills it", name(blocked_), buffer, name(filler));
    std::string text = fmt::format("deadlock: {} waits for {}", name(blocked_), name(filler));
    for (int task : way) text += ", which waits for " + name(task);
    return text;
  }

 private:
  const Task& task(int number) const { return tasks_.tasks[number]; }

  std::string name(int number) const {
    const Step& step = *task(number).step;
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    if (compute == nullptr) return fmt::format("\"{}\"", print(program_, step));
    return fmt::format("\"compute {} on ipu {}\"", name_of(program_, *compute),
                       program_[compute->block].processor);
  }

  int first_writer(int slot) const {
    for (int i = blocked_ + 1; i < std::ssize(tasks_.tasks); ++i) {
      if (touches(task(i).writes, slot)) return i;
    }
    return -1;
  }

  // The tasks that a task waits for over its lanes, its sync group and its inputs.
  std::vector<int> waits_for(int number) const {
    const Task& waiting = task(number);
    std::vector<int> others;
    for (int i = number - 1; i >= blocked_; --i) {
      const Task& earlier = task(i);
      const bool fills = std::any_of(waiting.reads.begin(), waiting.reads.end(), [&](const SlotUse& use) {
        return touches(earlier.writes, use.number(0));
      });
      if (fills || share_lane(waiting, earlier) || holds_back(waiting, earlier)) others.push_back(i);
    }
    return others;
  }

  // The shortest chain of waits from a task to the blocked one; empty when there is none.
  std::vector<int> way_back(int from) const {
    std::map<int, int> reached_from{{from, -1}};
    std::queue<int> open({from});
    while (!open.empty() && !reached_from.contains(blocked_)) {
      const int number = open.front();
      open.pop();
      for (int other : waits_for(number)) {
        if (reached_from.emplace(other, number).second) open.push(other);
      }
    }
    std::vector<int> way;
    if (!reached_from.contains(blocked_)) return way;
    for (int number = blocked_; number != from; number = reached_from.at(number)) way.push_back(number);
    std::reverse(way.begin(), way.end());
    return way;
  }

  const Program& program_;
  const Tasks& tasks_;
  int blocked_;
};

class OrderCheck {
 public:
  OrderCheck(const Program& program, const Tasks& tasks)
      : program_(program), tasks_(tasks), pending_(program) {
    for (executor::BufferId id : ir::IdRange<executor::BufferId>(std::ssize(program.buffers))) {
      const executor::Buffer& buffer = program[id];
      if (!buffer.initial.empty()) pending_.fill(id);
      first_slot_.push_back(filled_.size());
      filled_.resize(filled_.size() + buffer.slots, !buffer.initial.empty());
    }
    filled_.resize(tasks.slots, true);
  }

  void check(const Item& item, std::int64_t iteration) {
    if (item.task >= 0) return run(item.task, iteration);
    const Loop& loop = tasks_.loops[item.loop];
    const std::int64_t different = different_iterations(loop);
    executor::Acting acting = acting_of(tasks_, loop.items);
    std::int64_t first = 0;
    for (std::int64_t end : loop.stretches) {
      const std::int64_t rounds = std::min(end - first, different);
      for (std::int64_t i = first; i < first + rounds; ++i) {
        for (int place : acting.in(i)) check(loop.items[place], i);
      }
      first = end;
    }
    free(*loop.step);
  }

 private:
  // After one round of every ring each step has been at all its slots; one more iteration reads what the
  // round has filled.
  static std::int64_t different_iterations(const Loop& loop) {
    std::int64_t slots = 1;
    for (const LoopPart& part : loop.parts) {
      for (const Ring& ring : part.rings) slots = std::max<std::int64_t>(slots, ring.slots);
    }
    return slots + 1;
  }

  void run(int number, std::int64_t iteration) {
    const Task& task = tasks_.tasks[number];
    if (task.has_parts) {
      // Each transfer has one read and one write, at its own place in the lists.
      const std::span<const int> moving = transfers_.of(*task.step, iteration);
      for (int place : moving) read(number, task.reads[place], iteration);
      for (int place : moving) write(task.writes[place], iteration);
    } else {
      for (const SlotUse& use : task.reads) read(number, use, iteration);
      for (const SlotUse& use : task.writes) write(use, iteration);
    }
    free(*task.step);
  }
  void read(int task, const SlotUse& use, std::int64_t iteration) const {
    const int slot = use.number(iteration);
    if (filled_[slot]) return;
    const std::string& buffer = program_[use.buffer].name;
    throw InternalError(Explanation(program_, tasks_, task).text(slot, buffer));
  }
  void write(const SlotUse& use, std::int64_t iteration) {
    std::vector<bool>::reference is_filled = filled_[use.number(iteration)];
    if (is_filled) return;
    is_filled = true;
    pending_.fill(use.buffer);
  }
  void free(const executor::Step& step) {
    pending_.each(step, [&](const executor::Slot& slot) {
      if (!program_[slot.buffer].always_live) filled_[first_slot_[slot.buffer] + slot.index] = false;
    });
  }

  const Program& program_;
  const Tasks& tasks_;
  ir::IdMap<executor::BufferId, std::size_t> first_slot_;
  std::vector<bool> filled_;  ///< by slot
  executor::ActingTransfers transfers_;
  PendingFrees pending_;
};

}  // namespace

void check_no_deadlock(const Program& program, const Tasks& tasks) {
  OrderCheck order(program, tasks);
  for (const Item& item : tasks.items) order.check(item, 0);
}

}  // namespace podium::sim
