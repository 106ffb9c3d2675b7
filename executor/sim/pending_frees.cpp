#include "executor/sim/pending_frees.h"

#include <algorithm>

namespace podium::sim {

using executor::BufferId;
using executor::Program;
using executor::Step;

PendingFrees::PendingFrees(const Program& program) : program_(program) { add(program.steps); }

void PendingFrees::add(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) add(repeat->body);
    if (step.frees.size() > kFew) add(step);
  }
}

void PendingFrees::add(const Step& step) {
  places_.resize(std::ssize(program_.buffers));
  const int number = static_cast<int>(lists_.size());
  steps_.emplace(&step, number);
  LongList& list = lists_.emplace_back();
  list.is_pending.resize(step.frees.size());
  for (int place = 0; place < std::ssize(step.frees); ++place) {
    const BufferId buffer = step.frees[static_cast<std::size_t>(place)].buffer;
    if (!program_[buffer].always_live) places_[buffer].push_back({number, place});
  }
}

void PendingFrees::fill(BufferId buffer) {
  if (lists_.empty()) return;
  for (const auto& [step, place] : places_[buffer]) {
    LongList& list = lists_[static_cast<std::size_t>(step)];
    if (list.is_pending[static_cast<std::size_t>(place)]) continue;
    list.is_pending[static_cast<std::size_t>(place)] = true;
    list.pending.push_back(place);
  }
}

const std::vector<int>& PendingFrees::take(int step) {
  LongList& list = lists_[static_cast<std::size_t>(step)];
  taken_.clear();
  std::swap(taken_, list.pending);
  if (!std::ranges::is_sorted(taken_)) std::ranges::sort(taken_);
  for (int place : taken_) list.is_pending[static_cast<std::size_t>(place)] = false;
  return taken_;
}

}  // namespace podium::sim
