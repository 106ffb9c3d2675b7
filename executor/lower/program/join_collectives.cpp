#include "executor/lower/program/join_collectives.h"

#include <algorithm>

#include "executor/slots.h"

namespace podium::lower {

using executor::Collective;
using executor::Program;
using executor::Step;

namespace {

const Collective* exchange_of(const Step& step) {
  const auto* collective = std::get_if<Collective>(&step.action);
  const bool moves = collective != nullptr && collective->reduction != executor::CollectiveReduction::Local;
  return moves ? collective : nullptr;
}

bool are_alike(const Program& program, const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.group == b.group &&
         program[a.transfer.from.buffer].processor == program[b.transfer.from.buffer].processor;
}

// Whether the collective can change places with the step.
bool can_pass(const Collective& collective, const Step& step) {
  if (std::holds_alternative<executor::Repeat>(step.action)) return false;
  bool can = true;
  executor::for_each_slot(step, [&](const executor::Slot& slot, bool is_write) {
    if (slot.buffer == collective.transfer.to.buffer) can = false;
    if (is_write && slot.buffer == collective.transfer.from.buffer) can = false;
  });
  return can;
}

// The next collective of its kind from `step` on to `end`, where nothing between is in the way; else `end`.
template <class Iterator>
Iterator partner(const Program& program, Iterator step, Iterator end) {
  const Collective* collective = exchange_of(*step);
  if (collective == nullptr) return end;
  for (auto other = std::next(step); other != end; ++other) {
    const Collective* found = exchange_of(*other);
    if (found != nullptr && are_alike(program, *found, *collective)) return other;
    if (!can_pass(*collective, *other)) break;
  }
  return end;
}

// A later collective comes up to an earlier one; where it waits for something, the earlier one goes down to
// it.
void join(const Program& program, std::vector<Step>& steps) {
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    if (auto* repeat = std::get_if<executor::Repeat>(&step->action)) join(program, repeat->body);
    const auto here = std::make_reverse_iterator(std::next(step));
    const auto earlier = partner(program, here, steps.rend());
    if (earlier != steps.rend()) std::rotate(earlier.base(), step, std::next(step));
  }
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const auto here = std::prev(step.base());
    const auto later = partner(program, here, steps.end());
    if (later != steps.end()) std::rotate(here, std::next(here), later);
  }
}

}  // namespace

void join_collectives(Program& program) { join(program, program.steps); }

}  // namespace podium::lower
