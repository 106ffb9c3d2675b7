// How many micro-batches a buffer holds at once is counted over the whole run: for each micro-batch, the
// writes from its own to the one before its last read. A step reads before it writes, so a write in the step
// that reads last takes the slot that becomes free.
//
//   supersteps   0: F0   1: F1 B0   2: F2 B1   3: F3 B2   4: B3
//
// Supersteps 1 to 3 are the same for micro-batches that are one later each time: a Repeat of three. To find
// such a stretch each superstep is a number, that of its turnouts with micro-batches relative to its first
// one's; then for each period the longest run of equal numbers with equal distances is looked for.
//
// What a long pipeline fills and flushes with would be a list that grows with the square of its stages. There
// supersteps are one Repeat that have different turnouts, too: each acts from an iteration to another one.
// Above, all five are one Repeat with F in iterations 0 to 3 and B in 1 to 4. 1F1B comes in two: its fill,
// one superstep an iteration, and the rest, two an iteration.
#include "executor/lower/draft/supersteps.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <utility>

#include "executor/slots.h"

namespace podium::lower {
namespace {

using executor::Buffer;
using executor::BufferId;
using executor::Program;
using executor::Slot;
using executor::Step;
using executor::Transfer;

// In a superstep these come one behind the other; of each but the exchange, one appearance after the other.
enum class Section { Loads, Steps, Stores, Exchange };
constexpr int kSections = 4;

struct SectionOf {
  int turnout = 0;
  Section section = Section::Loads;
  friend auto operator<=>(const SectionOf&, const SectionOf&) = default;
};

// Where a buffer is written and read. Buffers that are used in the same sections hold equally much.
struct UsesOfBuffer {
  std::vector<SectionOf> writes = {};
  std::vector<SectionOf> reads = {};
  friend auto operator<=>(const UsesOfBuffer&, const UsesOfBuffer&) = default;

  // All uses of a section are noted before those of the next one.
  static void note(std::vector<SectionOf>& sections, const SectionOf& one) {
    if (sections.empty() || sections.back() != one) sections.push_back(one);
  }
};

// The position of each turnout's sections in the run, for each micro-batch. A section has one micro-batch, so
// that no position inside of it is needed: a buffer is written there before it is read.
class Positions {
 public:
  Positions(const std::vector<Superstep>& supersteps, std::size_t turnouts) : of_(turnouts) {
    std::int64_t begin = 0;
    for (const Superstep& superstep : supersteps) {
      for (int place = 0; place < std::ssize(superstep); ++place) {
        std::vector<Place>& places = of_[superstep[place].turnout];
        const auto micro_batch = static_cast<std::size_t>(superstep[place].micro_batch);
        if (places.size() <= micro_batch) places.resize(micro_batch + 1);
        places[micro_batch] = {static_cast<int>(supersteps_.size()), place};
      }
      const std::int64_t width = std::ssize(superstep);
      supersteps_.push_back({.begin = begin, .width = width});
      begin += kSections * width;
    }
  }

  /// The last of the sections for each micro-batch.
  std::vector<std::int64_t> last(const std::vector<SectionOf>& sections) const {
    std::vector<std::int64_t> latest;
    for (const SectionOf& one : sections) {
      const std::vector<Place>& places = of_[one.turnout];
      if (latest.size() < places.size()) latest.resize(places.size(), kNever);
      for (std::size_t k = 0; k < places.size(); ++k) {
        latest[k] = std::max(latest[k], position(places[k], one.section));
      }
    }
    return latest;
  }

 private:
  static constexpr std::int64_t kNever = -1;
  struct Place {
    int superstep = -1;
    int place = 0;  ///< among its appearances
  };
  // Of its sections each has as many positions as there are appearances, the exchange uses one.
  struct Span {
    std::int64_t begin = 0;
    std::int64_t width = 0;
  };

  std::int64_t position(const Place& at, Section section) const {
    if (at.superstep < 0) return kNever;
    const auto& [begin, width] = supersteps_[at.superstep];
    return begin + static_cast<int>(section) * width + (section == Section::Exchange ? 0 : at.place);
  }

  std::vector<std::vector<Place>> of_;  ///< by turnout and micro-batch
  std::vector<Span> supersteps_;
};

class SlotGiver {
 public:
  SlotGiver(Program& program, const std::vector<Turnout>& turnouts)
      : program_(program), uses_(std::ssize(program.buffers)) {
    for (int t = 0; t < std::ssize(turnouts); ++t) {
      note({t, Section::Loads}, turnouts[t].loads);
      note({t, Section::Steps}, turnouts[t].steps);
      note({t, Section::Stores}, turnouts[t].stores);
      const SectionOf exchange = {t, Section::Exchange};
      for (const Transfer& transfer : turnouts[t].exchange) {
        if (transfer.from.stride == 0) UsesOfBuffer::note(uses_[transfer.from.buffer].reads, exchange);
        if (transfer.to.stride == 0) UsesOfBuffer::note(uses_[transfer.to.buffer].writes, exchange);
      }
    }
  }

  /// True of each buffer whose slots go by micro-batches.
  ir::IdMap<BufferId, bool> give(const Positions& positions) {
    ir::IdMap<BufferId, bool> turns(std::ssize(program_.buffers), false);
    for (BufferId id : program_.buffer_ids()) {
      Buffer& buffer = program_[id];
      if (buffer.persistent || uses_[id].writes.empty()) continue;
      const int held = held_by(uses_[id], positions);
      if (held == 1) continue;
      buffer.slots = held;
      if (buffer.role == executor::Role::Activation) buffer.role = executor::Role::Stash;
      turns[id] = true;
    }
    return turns;
  }

 private:
  void note(const SectionOf& section, const std::vector<Step>& steps) {
    for (const Step& step : steps) {
      for_each_slot(step, [&](const Slot& slot, bool is_write) {
        if (slot.stride != 0) return;
        UsesOfBuffer& uses = uses_[slot.buffer];
        UsesOfBuffer::note(is_write ? uses.writes : uses.reads, section);
      });
    }
  }

  // The most micro-batches at once.
  int held_by(const UsesOfBuffer& uses, const Positions& positions) {
    const auto [place, is_new] = held_.try_emplace(uses, 1);
    if (!is_new) return place->second;
    const std::vector<std::int64_t> writes = positions.last(uses.writes);
    const std::vector<std::int64_t> last_reads = positions.last(uses.reads);
    for (int k = 0; k < std::ssize(last_reads); ++k) {
      const auto behind = std::lower_bound(writes.begin(), writes.end(), last_reads[k]);
      place->second = std::max(place->second, static_cast<int>(behind - writes.begin()) - k);
    }
    return place->second;
  }

  Program& program_;
  ir::IdMap<BufferId, UsesOfBuffer> uses_;
  std::map<UsesOfBuffer, int> held_;
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
  // What comes once is in no stretch.
  std::vector<int> times(numbers.size(), 0);
  for (int number : number_of) ++times[number];
  const std::int64_t most = std::ranges::count_if(number_of, [&](int number) { return times[number] > 1; });
  Stretch best;
  for (std::int64_t period = 1; 2 * period <= most && most - period > best.saved(); ++period) {
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

// A turnout in a superstep of a Repeat: for micro-batch `first.micro_batch + stride * i` in iteration i.
struct Entry {
  Appearance first = {};
  int stride = 0;
  executor::Iterations acts = {};
};

// Supersteps that come `count` times. In each the order of its entries is that of the supersteps that they
// are from.
struct Fold {
  std::int64_t count = 0;
  std::vector<std::vector<Entry>> supersteps = {};
};

Fold as_it_is(const Superstep& superstep) {
  Fold fold{.count = 1, .supersteps = {{}}};
  for (const Appearance& one : superstep) fold.supersteps[0].push_back({.first = one});
  return fold;
}

std::vector<Fold> with_stretch(const std::vector<Superstep>& supersteps, const Stretch& stretch) {
  std::vector<Fold> folds;
  for (std::int64_t at = 0; at < std::ssize(supersteps); ++at) {
    Fold& fold = folds.emplace_back(as_it_is(supersteps[at]));
    if (stretch.count < 2 || at != stretch.begin) continue;
    fold = {.count = stretch.count, .supersteps = {}};
    for (std::int64_t i = 0; i < stretch.period; ++i) {
      std::vector<Entry>& entries = fold.supersteps.emplace_back();
      for (const Appearance& one : supersteps[at + i]) {
        entries.push_back({.first = one, .stride = stretch.stride});
      }
    }
    at += stretch.saved() + stretch.period - 1;
  }
  return folds;
}

// Takes superstep after superstep into a Repeat of so many, until one does not fit: where a turnout has a gap
// between its iterations, where its micro-batches have, where it comes twice, or where turnouts have changed
// their order.
class Folder {
 public:
  Folder(std::int64_t period, std::size_t turnouts)
      : period_(period),
        places_(period, std::vector<int>(turnouts, kNowhere)),
        met_(turnouts, kNowhere),
        fold_{.supersteps = {}} {
    fold_.supersteps.resize(period);
  }

  bool take(const Superstep& superstep) {
    const int iteration = static_cast<int>(taken_ / period_);
    if (!fits(superstep, iteration)) return false;
    std::vector<Entry>& entries = fold_.supersteps[taken_ % period_];
    std::vector<int>& places = places_[taken_ % period_];
    std::ptrdiff_t behind = 0;
    for (const Appearance& one : superstep) {
      if (places[one.turnout] == kNowhere) {
        entries.insert(entries.begin() + behind, {.first = one, .acts = {iteration, iteration}});
        for (std::ptrdiff_t i = behind; i < std::ssize(entries); ++i)
          places[entries[i].first.turnout] = static_cast<int>(i);
      }
      Entry& entry = entries[places[one.turnout]];
      if (entry.acts.end == entry.acts.first + 1) entry.stride = one.micro_batch - entry.first.micro_batch;
      ++entry.acts.end;
      behind = places[one.turnout] + 1;
    }
    ++taken_;
    appearances_ += std::ssize(superstep);
    return true;
  }

  /// How many appearances need not be written out.
  std::int64_t saved() const {
    if (taken_ < 2 * period_) return 0;
    std::int64_t saved = appearances_;
    for (const std::vector<Entry>& entries : fold_.supersteps) saved -= std::ssize(entries);
    return saved;
  }
  /// What whole iterations have taken.
  Fold take_fold() {
    fold_.count = taken_ / period_;
    const int count = static_cast<int>(fold_.count);
    for (std::vector<Entry>& entries : fold_.supersteps) {
      std::erase_if(entries, [&](const Entry& entry) { return entry.acts.first >= count; });
      for (Entry& entry : entries) {
        entry.first.micro_batch -= entry.stride * entry.acts.first;
        const bool acts_always = entry.acts.first == 0 && entry.acts.end >= count;
        entry.acts = acts_always ? executor::Iterations{} : executor::both(entry.acts, {.end = count});
      }
    }
    return std::move(fold_);
  }

 private:
  static constexpr int kNowhere = -1;

  bool fits(const Superstep& superstep, int iteration) {
    const std::vector<Entry>& entries = fold_.supersteps[taken_ % period_];
    const std::vector<int>& places = places_[taken_ % period_];
    int last = kNowhere;
    for (const Appearance& one : superstep) {
      if (std::exchange(met_[one.turnout], taken_) == taken_) return false;
      const int place = places[one.turnout];
      if (place == kNowhere) continue;
      const Entry& entry = entries[place];
      const int times = entry.acts.end - entry.acts.first;
      const int distance = one.micro_batch - entry.first.micro_batch;
      const bool goes_on = times == 1 ? distance > 0 : distance == entry.stride * times;
      if (place <= last || entry.acts.end != iteration || !goes_on) return false;
      last = place;
    }
    return true;
  }

  std::int64_t period_;
  std::vector<std::vector<int>> places_;  ///< of each superstep, where a turnout's entry is
  std::vector<std::int64_t> met_;         ///< by turnout: the superstep that was asked for it last
  Fold fold_;
  std::int64_t taken_ = 0;
  std::int64_t appearances_ = 0;
};

// From the front on, the Repeat that saves most. Periods of schedules are short, but for those that are as
// long as the pipeline, whose stretch is found beforehand.
std::vector<Fold> folded(const std::vector<Superstep>& supersteps, const Stretch& stretch,
                         std::size_t turnouts) {
  constexpr std::int64_t kLongestPeriod = 8;
  const std::int64_t all = std::ssize(supersteps);
  const bool has_long_period = stretch.period > kLongestPeriod;
  std::vector<Fold> folds;
  for (std::int64_t at = 0; at < all;) {
    std::vector<std::int64_t> periods(kLongestPeriod);
    std::iota(periods.begin(), periods.end(), 1);
    if (has_long_period && at == stretch.begin) periods = {stretch.period};
    const std::int64_t end = has_long_period && at < stretch.begin ? stretch.begin : all;
    std::optional<Folder> best;
    for (std::int64_t period : periods) {
      Folder folder(period, turnouts);
      for (std::int64_t next = at; next < end && folder.take(supersteps[next]);) ++next;
      if (folder.saved() > (best ? best->saved() : 0)) best = std::move(folder);
    }
    folds.push_back(best ? best->take_fold() : as_it_is(supersteps[at]));
    at += std::ssize(folds.back().supersteps) * folds.back().count;
  }
  return folds;
}

class SuperstepWriter {
 public:
  SuperstepWriter(const Program& program, const std::vector<Turnout>& turnouts,
                  const ir::IdMap<BufferId, bool>& turns, Exchanges exchanges)
      : program_(program), turnouts_(turnouts), turns_(turns), exchanges_(exchanges) {}

  void write(const std::vector<Entry>& superstep, std::vector<Step>& steps) const {
    for (std::vector<Step> Turnout::*part : {&Turnout::loads, &Turnout::steps, &Turnout::stores}) {
      for (const Entry& entry : superstep) {
        for (const Step& made : turnouts_[entry.first.turnout].*part) {
          Step& step = steps.emplace_back(made);
          note_micro_batch(entry, step);
          step.acts = entry.acts;
          for_each_slot(step, [&](Slot& slot, bool) { turn(slot, entry); });
        }
      }
    }
    std::vector<Transfer> all;
    for (const Entry& entry : superstep) {
      for (Transfer transfer : turnouts_[entry.first.turnout].exchange) {
        turn(transfer.from, entry);
        turn(transfer.to, entry);
        transfer.acts = entry.acts;
        all.push_back(transfer);
      }
    }
    for (std::vector<Transfer>& group : groups(all)) {
      steps.push_back({.action = executor::CopyBetweenProcessors{std::move(group)}});
      note_micro_batch(superstep.front(), steps.back());
    }
  }

 private:
  void note_micro_batch(const Entry& entry, Step& step) const {
    const Turnout& turnout = turnouts_[entry.first.turnout];
    step.micro_batch = turnout.first + entry.first.micro_batch * turnout.stride;
    step.micro_batch_stride = entry.stride * turnout.stride;
  }
  void turn(Slot& slot, const Entry& entry) const {
    const int slots = program_[slot.buffer].slots;
    if (slot.stride != 0) {
      slot.index = executor::slot_for(slot.index + slot.stride * entry.first.micro_batch, slots);
      slot.stride *= entry.stride;
    }
    if (!turns_[slot.buffer]) return;
    slot.index = executor::slot_for(entry.first.micro_batch, slots);
    slot.stride = entry.stride;
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
                            const std::vector<Superstep>& supersteps, Exchanges exchanges, int longest_fill) {
  const ir::IdMap<BufferId, bool> turns =
      SlotGiver(program, turnouts).give(Positions(supersteps, turnouts.size()));
  const SuperstepWriter writer(program, turnouts, turns, exchanges);
  const Stretch stretch = longest_stretch(supersteps);
  const bool has_short_fill = std::ssize(supersteps) - stretch.count * stretch.period <= longest_fill;
  std::vector<Step> steps;
  for (const Fold& fold :
       has_short_fill ? with_stretch(supersteps, stretch) : folded(supersteps, stretch, turnouts.size())) {
    if (fold.count == 1) {
      for (const std::vector<Entry>& superstep : fold.supersteps) writer.write(superstep, steps);
      continue;
    }
    executor::Repeat repeat{.count = static_cast<int>(fold.count), .body = {}};
    for (const std::vector<Entry>& superstep : fold.supersteps) writer.write(superstep, repeat.body);
    if (!repeat.body.empty()) steps.push_back({.action = std::move(repeat)});
  }
  return steps;
}

}  // namespace podium::lower
