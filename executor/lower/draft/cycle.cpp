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
//
// A long fill is not written out. Then it is
//
//   Repeat 7 times       c in iterations 2 to 6, b in 1 to 5, a in 0 to 4
//
// Where a and c cross batches, a.0 of the next batch comes beside b.4 and c.4 beside b.0 of the next batch.
// The batches between the first and the last are equal then; the first one has an a.0 of its own at its
// beginning, the last one a c.4 at its end.
#include "executor/lower/draft/cycle.h"

#include <algorithm>
#include <iterator>
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

  static bool is_of_variable(executor::Role role) {
    return role == executor::Role::Weight || role == executor::Role::OptimizerState ||
           role == executor::Role::Accumulator;
  }

  // The micro-batches written from a value's write to its read, itself included.
  void hold_until(const Slot& slot, Moment read) {
    const auto write = first_writes_.find(slot.buffer);
    if (write == first_writes_.end()) return;
    const Moment written = write->second;
    const int held = read.offset - written.offset + (written.position <= read.position ? 1 : 0);
    Buffer& buffer = program_[slot.buffer];
    if (buffer.persistent) return;  // a variable is what it is at the time
    // What is loaded of one before the cycle, each micro-batch reads as the last one left it.
    if (held <= 0 && is_of_variable(buffer.role)) return;
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

// Which batches a list of steps is for.
struct Neighbours {
  bool has_batch_before = false;
  bool has_batch_behind = false;
};

// Writes out the cycles.
class Unroller {
 public:
  Unroller(const Program& program, const Cycle& cycle, const std::set<BufferId>& stashes,
           const Batches& batches)
      : program_(program),
        cycle_(cycle),
        stashes_(stashes),
        micro_batches_(batches.micro_batches),
        longest_fill_(batches.longest_fill) {}

  /// The cycles of a batch.
  std::vector<Step> write(Neighbours neighbours) const {
    const int fill = last_offset();
    const bool is_alone = !neighbours.has_batch_before && !neighbours.has_batch_behind;
    // A single micro-batch takes each step once.
    if (is_alone && fill > longest_fill_ && micro_batches_ > 1) return {in_one(fill)};
    const int most_repeats = micro_batches_ - fill;
    std::vector<Step> steps;
    for (int c = 0; c < micro_batches_ + fill;) {
      const int repeats = c == fill ? most_repeats : 1;
      if (repeats > 1) {
        executor::Repeat repeat{.count = repeats, .body = {}};
        write_cycle(c, neighbours, Written::Repeated, repeat.body);
        steps.push_back({.action = std::move(repeat)});
      } else {
        write_cycle(c, neighbours, Written::Once, steps);
      }
      c += std::max(repeats, 1);
    }
    return steps;
  }

 private:
  int last_offset() const {
    int last = 0;
    for (const Beat& beat : cycle_) {
      for (const TimedStep& timed : beat.steps) last = std::max(last, timed.offset);
    }
    return last;
  }
  // All cycles as one Repeat. A step of offset o is for micro-batch i - o in iteration i.
  Step in_one(int fill) const {
    executor::Repeat repeat{.count = micro_batches_ + fill, .body = {}};
    for (const Beat& beat : cycle_) {
      for (const TimedStep& timed : beat.steps) {
        Step& step = repeat.body.emplace_back(timed.step);
        set_micro_batch(step, -timed.offset, Written::Repeated);
        step.acts = acts_of(timed.offset);
        for_each_slot(step, [&](Slot& slot, bool) { turn(slot, -timed.offset, Written::Repeated); });
      }
      CopyBetweenProcessors copy;
      for (const TimedTransfer& timed : beat.exchange) {
        executor::Transfer& transfer = copy.transfers.emplace_back(timed.transfer);
        transfer.acts = acts_of(timed.offset);
        turn(transfer.from, -timed.offset, Written::Repeated);
        turn(transfer.to, -timed.offset, Written::Repeated);
      }
      if (copy.transfers.empty()) continue;
      const int last = beat.exchange.back().offset;
      set_micro_batch(repeat.body.emplace_back(Step{.action = std::move(copy)}), -last, Written::Repeated);
    }
    return {.action = std::move(repeat)};
  }
  executor::Iterations acts_of(int offset) const { return {offset, offset + micro_batches_}; }
  // The steps of cycle `c`, or, when it is `Repeated`, of every cycle from it on.
  void write_cycle(int c, Neighbours neighbours, Written written, std::vector<Step>& steps) const {
    for (const Beat& beat : cycle_) {
      for (const TimedStep& timed : beat.steps) {
        if (!is_active(timed, c, neighbours)) continue;
        // A step of a neighbouring batch is for the last micro-batch of the one or the first of the other.
        const int micro_batch = (c - timed.offset + micro_batches_) % micro_batches_;
        Step& step = steps.emplace_back(timed.step);
        set_micro_batch(step, micro_batch, written);
        for_each_slot(step, [&](Slot& slot, bool) {
          IR_CHECK(timed.across == AcrossBatches::Stays || program_[slot.buffer].slots == 1,
                   "{} crosses batches and has several slots", program_[slot.buffer].name);
          turn(slot, micro_batch, written);
        });
      }
      write_exchange(beat, c, written, steps);
    }
  }
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
  bool is_active(const TimedStep& timed, int c, Neighbours neighbours) const {
    const bool is_before = timed.across == AcrossBatches::FirstComesBefore;
    const bool is_after = timed.across == AcrossBatches::LastLeavesAfter;
    const int first = (is_before && neighbours.has_batch_before ? 1 : 0) -
                      (is_after && neighbours.has_batch_before ? 1 : 0);
    const int end = micro_batches_ + (is_before && neighbours.has_batch_behind ? 1 : 0) -
                    (is_after && neighbours.has_batch_behind ? 1 : 0);
    return timed.offset + first <= c && c < timed.offset + end;
  }
  static void set_micro_batch(Step& step, int micro_batch, Written written) {
    step.micro_batch = micro_batch;
    step.micro_batch_stride = written == Written::Repeated ? 1 : 0;
  }
  void turn(Slot& slot, int micro_batch, Written written) const {
    const int slots = program_[slot.buffer].slots;
    if (slot.stride != 0) {
      slot.index = executor::slot_for(slot.index + slot.stride * micro_batch, slots);
      if (written == Written::Once) slot.stride = 0;
    }
    if (!stashes_.contains(slot.buffer)) return;
    slot.index = executor::slot_for(micro_batch, slots);
    slot.stride = written == Written::Repeated ? 1 : 0;
  }

  const Program& program_;
  const Cycle& cycle_;
  const std::set<BufferId>& stashes_;
  int micro_batches_;
  int longest_fill_;
};

}  // namespace

std::vector<Step> unroll(Program& program, Cycle cycle, const Batches& batches) {
  bool crosses = false;
  for (Beat& beat : cycle) {
    std::stable_sort(beat.exchange.begin(), beat.exchange.end(),
                     [](const TimedTransfer& a, const TimedTransfer& b) { return a.offset > b.offset; });
    for (const TimedStep& timed : beat.steps) crosses |= timed.across != AcrossBatches::Stays;
  }
  const std::set<BufferId> stashes = Stashes(program, batches.micro_batches).give_slots(cycle);
  const Unroller unroller(program, cycle, stashes, batches);
  std::vector<Step> steps;
  const auto add = [&](int count, Neighbours neighbours) {
    if (count == 0) return;
    std::vector<Step> batch = unroller.write(neighbours);
    batch.insert(batch.end(), batches.update.begin(), batches.update.end());
    if (count > 1) {
      steps.push_back({.action = executor::Repeat{.count = count, .body = std::move(batch)}});
    } else {
      std::move(batch.begin(), batch.end(), std::back_inserter(steps));
    }
  };
  if (batches.count == 1 || !crosses) {
    add(batches.count, {});
  } else {
    add(1, {.has_batch_behind = true});
    add(batches.count - 2, {.has_batch_before = true, .has_batch_behind = true});
    add(1, {.has_batch_before = true});
  }
  return steps;
}

}  // namespace podium::lower
