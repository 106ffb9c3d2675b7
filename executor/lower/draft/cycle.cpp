// Offsets 0 to 2 and 5 micro-batches, step s of micro-batch m as s.m:
//
//   fill                 a.0
//                        b.0  a.1
//   Repeat 3 times       c.0  b.1  a.2      then c.1 b.2 a.3 and c.2 b.3 a.4: all three steps take part
//   flush                c.3  b.4
//                        c.4
//
// A buffer is written for a micro-batch in one cycle and read last some cycles later: it holds as many
// micro-batches as there are writes from the one to the other, each in slot (micro-batch modulo slots). That
// number is the stash depth. In the order of a cycle a read may come before the write of the same cycle; then
// what it reads is overwritten behind it and takes one slot less.
#include "executor/lower/draft/cycle.h"

#include <algorithm>
#include <map>
#include <set>

#include "executor/slots.h"

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::Compute;
using executor::CopyBetweenProcessors;
using executor::Program;
using executor::Slot;
using executor::Step;

namespace {

// On each slot of a step and of the steps inside it.
template <class AnyStep, class Visit>
void for_every_slot(AnyStep& step, const Visit& visit) {
  for_each_slot(step, visit);
  if (auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
    for (auto& inner : repeat->body) for_every_slot(inner, visit);
  }
}

// Gives buffers their slots; true for each that has several.
class Stashes {
 public:
  Stashes(Program& program, int micro_batches) : program_(program), micro_batches_(micro_batches) {}

  std::set<BufferId> give_slots(const Cycle& cycle) {
    const auto each = [&](const auto& note) {
      int position = 0;
      for (const Beat& beat : cycle) {
        for (const TimedStep& timed : beat.steps) {
          for_every_slot(timed.step, [&](const Slot& slot, bool is_write) {
            note(slot, is_write, timed.offset, position);
          });
          ++position;
        }
        for (const TimedTransfer& timed : beat.exchange) {
          note(timed.transfer.from, false, timed.offset, position);
          note(timed.transfer.to, true, timed.offset, position++);
        }
      }
    };
    each([&](const Slot& slot, bool is_write, int offset, int position) {
      if (is_write && slot.stride == 0) first_writes_.try_emplace(slot.buffer, Moment{offset, position});
    });
    each([&](const Slot& slot, bool is_write, int offset, int position) {
      if (!is_write && slot.stride == 0) hold_until(slot, {offset, position});
    });
    return std::move(stashes_);
  }

 private:
  struct Moment {
    int offset = 0;
    int position = 0;  ///< in the cycle
  };

  // The micro-batches written from a value's write to its read, itself included.
  void hold_until(const Slot& slot, Moment read) {
    const auto write = first_writes_.find(slot.buffer);
    if (write == first_writes_.end()) return;
    const Moment written = write->second;
    const int held = read.offset - written.offset + (written.position <= read.position ? 1 : 0);
    Buffer& buffer = program_[slot.buffer];
    if (buffer.persistent) return;  // a variable is what it is at the time
    IR_CHECK(held > 0, "{} is read in a cycle before it is written", buffer.name);
    const int slots = std::min(held, micro_batches_);
    if (slots <= buffer.slots) return;
    buffer.slots = slots;
    if (buffer.role == executor::Role::Activation) buffer.role = executor::Role::Stash;
    stashes_.insert(slot.buffer);
  }

  Program& program_;
  int micro_batches_;
  std::map<BufferId, Moment> first_writes_;
  std::set<BufferId> stashes_;
};

enum class Written : std::uint8_t { Once, Repeated };

// Writes out the cycles.
class Unroller {
 public:
  Unroller(const Program& program, const Cycle& cycle, const std::set<BufferId>& stashes, int micro_batches)
      : program_(program), cycle_(cycle), stashes_(stashes), micro_batches_(micro_batches) {}

  /// The steps of cycle `c`, or, when it is `Repeated`, of every cycle from it on.
  void write(int c, Written written, std::vector<Step>& steps) const {
    for (const Beat& beat : cycle_) {
      for (const TimedStep& timed : beat.steps) {
        if (!is_active(timed.offset, c)) continue;
        Step& step = steps.emplace_back(timed.step);
        set_micro_batch(step, c - timed.offset, written);
        for_each_slot(step, [&](Slot& slot, bool) { turn(slot, c - timed.offset, written); });
      }
      write_exchange(beat, c, written, steps);
    }
  }

 private:
  void write_exchange(const Beat& beat, int c, Written written, std::vector<Step>& steps) const {
    CopyBetweenProcessors copy;
    int micro_batch = 0;
    for (const TimedTransfer& timed : beat.exchange) {
      if (!is_active(timed.offset, c)) continue;
      micro_batch = c - timed.offset;
      executor::Transfer& transfer = copy.transfers.emplace_back(timed.transfer);
      turn(transfer.from, micro_batch, written);
      turn(transfer.to, micro_batch, written);
    }
    if (copy.transfers.empty()) return;
    set_micro_batch(steps.emplace_back(Step{.action = std::move(copy)}), micro_batch, written);
  }
  bool is_active(int offset, int c) const { return offset <= c && c < offset + micro_batches_; }
  static void set_micro_batch(Step& step, int micro_batch, Written written) {
    step.micro_batch = micro_batch;
    step.micro_batch_stride = written == Written::Repeated ? 1 : 0;
  }
  void turn(Slot& slot, int micro_batch, Written written) const {
    if (slot.stride != 0) {
      slot.index = (slot.index + slot.stride * micro_batch) % program_[slot.buffer].slots;
      if (written == Written::Once) slot.stride = 0;
    }
    if (!stashes_.contains(slot.buffer)) return;
    slot.index = micro_batch % program_[slot.buffer].slots;
    slot.stride = written == Written::Repeated ? 1 : 0;
  }

  const Program& program_;
  const Cycle& cycle_;
  const std::set<BufferId>& stashes_;
  int micro_batches_;
};

}  // namespace

std::vector<Step> unroll(Program& program, Cycle cycle, int micro_batches) {
  int fill = 0;
  std::int64_t most_steps = 0;
  for (Beat& beat : cycle) {
    std::stable_sort(beat.exchange.begin(), beat.exchange.end(),
                     [](const TimedTransfer& a, const TimedTransfer& b) { return a.offset > b.offset; });
    for (const TimedStep& timed : beat.steps) fill = std::max(fill, timed.offset);
    most_steps += std::ssize(beat.steps) + 1;
  }
  const std::set<BufferId> stashes = Stashes(program, micro_batches).give_slots(cycle);
  const Unroller unroller(program, cycle, stashes, micro_batches);
  const int most_repeats = micro_batches - fill;
  std::vector<Step> steps;
  steps.reserve(most_steps * (micro_batches - std::max(most_repeats, 0)) + fill + 1);
  for (int c = 0; c < micro_batches + fill;) {
    const int repeats = c == fill ? most_repeats : 1;
    if (repeats > 1) {
      executor::Repeat repeat{.count = repeats, .body = {}};
      unroller.write(c, Written::Repeated, repeat.body);
      steps.push_back({.action = std::move(repeat)});
    } else {
      unroller.write(c, Written::Once, steps);
    }
    c += std::max(repeats, 1);
  }
  return steps;
}

}  // namespace podium::lower
