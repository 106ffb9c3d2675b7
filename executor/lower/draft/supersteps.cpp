// How many micro-batches a buffer holds at once is counted over the whole run: for each micro-batch, the
// writes from its own to the one before its last read. A step reads before it writes, so a write in the step
// that reads last takes the slot that becomes free.
//
//   supersteps   0: F0   1: F1 B0   2: F2 B1   3: F3 B2   4: B3
//
// Supersteps 1 to 3 are the same for micro-batches that are one later each time: a Repeat of three. To find
// such a stretch each superstep is a number, that of its turnouts with micro-batches relative to its first
// one's; then for each period the longest run of equal numbers with equal distances is looked for.
#include "executor/lower/draft/supersteps.h"

#include <algorithm>
#include <map>
#include <ranges>

#include "executor/slots.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::Transfer;

// The positions at which a buffer is written, and read last, for each micro-batch.
struct UsesOfBuffer {
  std::vector<std::int64_t> writes = {};
  std::vector<std::int64_t> last_reads = {};

  static void set(std::vector<std::int64_t>& positions, int micro_batch, std::int64_t position) {
    constexpr std::int64_t kNever = -1;
    if (std::ssize(positions) <= micro_batch) positions.resize(micro_batch + 1, kNever);
    positions[micro_batch] = position;
  }
  /// The most micro-batches at once.
  int held() const {
    int most = 1;
    for (int k = 0; k < std::ssize(last_reads); ++k) {
      const auto behind = std::lower_bound(writes.begin(), writes.end(), last_reads[k]);
      most = std::max(most, static_cast<int>(behind - writes.begin()) - k);
    }
    return most;
  }
};

// Visits the steps of a superstep in their order, each with the appearance that it is of.
template <class Visit>
void for_each_step(const std::vector<Turnout>& turnouts, const Superstep& superstep, const Visit& visit) {
  for (std::vector<Step> Turnout::*part : {&Turnout::loads, &Turnout::steps, &Turnout::stores}) {
    for (const Appearance& one : superstep) {
      for (const Step& step : turnouts[one.turnout].*part) visit(step, one);
    }
  }
}

class SlotGiver {
 public:
  SlotGiver(Program& program, const std::vector<Turnout>& turnouts)
      : program_(program), turnouts_(turnouts), uses_(std::ssize(program.buffers)) {}

  /// True of each buffer whose slots go by micro-batches.
  ir::IdMap<BufferId, bool> give(const std::vector<Superstep>& supersteps) {
    for (const Superstep& superstep : supersteps) {
      for_each_step(turnouts_, superstep, [&](const Step& step, const Appearance& one) {
        ++position_;
        for_each_slot(step, [&](const Slot& slot, bool is_write) { note(slot, is_write, one.micro_batch); });
      });
      ++position_;
      for (const Appearance& one : superstep) {
        for (const Transfer& transfer : turnouts_[one.turnout].exchange) {
          note(transfer.from, false, one.micro_batch);
          note(transfer.to, true, one.micro_batch);
        }
      }
    }
    ir::IdMap<BufferId, bool> turns(std::ssize(program_.buffers), false);
    for (BufferId id : program_.buffer_ids()) {
      Buffer& buffer = program_[id];
      const int held = uses_[id].held();
      if (buffer.persistent || uses_[id].writes.empty() || held == 1) continue;
      buffer.slots = held;
      if (buffer.role == executor::Role::Activation) buffer.role = executor::Role::Stash;
      turns[id] = true;
    }
    return turns;
  }

 private:
  void note(const Slot& slot, bool is_write, int micro_batch) {
    if (slot.stride != 0) return;
    UsesOfBuffer& uses = uses_[slot.buffer];
    UsesOfBuffer::set(is_write ? uses.writes : uses.last_reads, micro_batch, position_);
  }

  Program& program_;
  const std::vector<Turnout>& turnouts_;
  ir::IdMap<BufferId, UsesOfBuffer> uses_;
  std::int64_t position_ = 0;
};

// Supersteps `begin` to `begin + period` come `count` times, each time for micro-batches that are `stride`
// later.
struct Stretch {
  std::int64_t begin = 0;
  std::int64_t period = 0;
  std::int64_t count = 1;
  int stride = 0;

  std::int64_t saved() const { return (count - 1) * period; }
};

Stretch longest_stretch(const std::vector<Superstep>& supersteps) {
  std::map<Superstep, int> numbers;
  std::vector<int> number_of;
  std::vector<int> first;
  for (Superstep superstep : supersteps) {
    first.push_back(superstep.empty() ? 0 : superstep.front().micro_batch);
    for (Appearance& one : superstep) one.micro_batch -= first.back();
    number_of.push_back(numbers.try_emplace(std::move(superstep), numbers.size()).first->second);
  }
  const std::int64_t all = std::ssize(supersteps);
  Stretch best;
  for (std::int64_t period = 1; 2 * period <= all && all - period > best.saved(); ++period) {
    Stretch now{.period = period};
    for (std::int64_t at = 0; at + period < all; ++at) {
      const int stride = first[at + period] - first[at];
      const bool fits = number_of[at] == number_of[at + period] && stride > 0;
      if (!fits || stride != now.stride) {
        now = {.begin = at, .period = period, .stride = fits ? stride : 0};
        if (all - period - at <= best.saved()) break;  // too few are left
      }
      if (!fits) continue;
      now.count = (at + 1 - now.begin) / period + 1;
      if (now.saved() > best.saved()) best = now;
    }
  }
  return best;
}

class SuperstepWriter {
 public:
  SuperstepWriter(const Program& program, const std::vector<Turnout>& turnouts,
                  const ir::IdMap<BufferId, bool>& turns, Exchanges exchanges)
      : program_(program), turnouts_(turnouts), turns_(turns), exchanges_(exchanges) {}

  /// `stride`: by how much later the micro-batches of the next iteration are; 0 outside of a Repeat.
  void write(const Superstep& superstep, int stride, std::vector<Step>& steps) const {
    for_each_step(turnouts_, superstep, [&](const Step& made, const Appearance& one) {
      Step& step = steps.emplace_back(made);
      note_micro_batch(one, stride, step);
      for_each_slot(step, [&](Slot& slot, bool) { turn(slot, one.micro_batch, stride); });
    });
    std::vector<Transfer> all;
    for (const Appearance& one : superstep) {
      for (Transfer transfer : turnouts_[one.turnout].exchange) {
        turn(transfer.from, one.micro_batch, stride);
        turn(transfer.to, one.micro_batch, stride);
        all.push_back(transfer);
      }
    }
    for (std::vector<Transfer>& group : groups(all)) {
      steps.push_back({.action = executor::CopyBetweenProcessors{std::move(group)}});
      note_micro_batch(superstep.front(), stride, steps.back());
    }
  }

 private:
  void note_micro_batch(const Appearance& one, int stride, Step& step) const {
    const Turnout& turnout = turnouts_[one.turnout];
    step.micro_batch = turnout.first + one.micro_batch * turnout.stride;
    step.micro_batch_stride = stride * turnout.stride;
  }
  void turn(Slot& slot, int micro_batch, int stride) const {
    if (slot.stride != 0) {
      slot.index = (slot.index + slot.stride * micro_batch) % program_[slot.buffer].slots;
      slot.stride *= stride;
    }
    if (!turns_[slot.buffer]) return;
    slot.index = micro_batch % program_[slot.buffer].slots;
    slot.stride = stride;
  }
  // Apart, what one processor has for another one is an exchange: nobody else waits for it.
  std::vector<std::vector<Transfer>> groups(const std::vector<Transfer>& all) const {
    if (all.empty()) return {};
    if (exchanges_ == Exchanges::Together) return {all};
    const auto at = [&](const Slot& slot) { return program_[slot.buffer].processor; };
    std::map<std::pair<int, int>, std::vector<Transfer>> by_ends;
    for (const Transfer& one : all) by_ends[{at(one.from), at(one.to)}].push_back(one);
    const auto found = std::views::values(by_ends);
    return {found.begin(), found.end()};
  }

  const Program& program_;
  const std::vector<Turnout>& turnouts_;
  const ir::IdMap<BufferId, bool>& turns_;
  Exchanges exchanges_;
};

}  // namespace

std::vector<Step> write_out(Program& program, const std::vector<Turnout>& turnouts,
                            const std::vector<Superstep>& supersteps, Exchanges exchanges) {
  const ir::IdMap<BufferId, bool> turns = SlotGiver(program, turnouts).give(supersteps);
  const SuperstepWriter writer(program, turnouts, turns, exchanges);
  const Stretch stretch = longest_stretch(supersteps);
  std::vector<Step> steps;
  for (std::int64_t at = 0; at < std::ssize(supersteps); ++at) {
    if (stretch.count < 2 || at != stretch.begin) {
      writer.write(supersteps[at], 0, steps);
      continue;
    }
    executor::Repeat repeat{.count = static_cast<int>(stretch.count), .body = {}};
    for (std::int64_t i = 0; i < stretch.period; ++i) {
      writer.write(supersteps[at + i], stretch.stride, repeat.body);
    }
    if (!repeat.body.empty()) steps.push_back({.action = std::move(repeat)});
    at += stretch.saved() + stretch.period - 1;
  }
  return steps;
}

}  // namespace podium::lower
