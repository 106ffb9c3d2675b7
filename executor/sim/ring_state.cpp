#include "executor/sim/ring_state.h"

#include <algorithm>
#include <utility>

#include "executor/slots.h"

namespace podium::sim {
namespace {

bool same(Ticks now, Ticks base_now, Ticks then, Ticks base_then) {
  return std::max(now, base_now) - base_now == std::max(then, base_then) - base_then;
}

bool is_written(const SlotTimes& now, const SlotTimes& then) { return now.ready != then.ready; }
bool is_used(const SlotTimes& now, const SlotTimes& then) { return now.free != then.free; }

}  // namespace

RingSlots moving_slots(const Ring& ring, const std::vector<int>& late, std::int64_t first, std::int64_t end) {
  const std::int64_t most = std::ssize(late) + (end - first) * std::ssize(ring.starts);
  if (ring.stride == 0 || most >= ring.slots) return {};
  std::vector<int> some = late;
  for (std::int64_t iteration = first; iteration < end; ++iteration) {
    for (int start : ring.starts)
      some.push_back(executor::slot_for(start + ring.stride * iteration, ring.slots));
  }
  std::ranges::sort(some);
  some.erase(std::unique(some.begin(), some.end()), some.end());
  return {.all = false, .some = std::move(some)};
}

RingState::RingState(const Ring& ring, TaskClock& clock, std::int64_t iteration, RingSlots moving)
    : ring_(&ring), clock_(&clock), iteration_(iteration), moving_(std::move(moving)) {
  const auto first = clock.slots.begin() + ring.first;
  if (moving_.all) {
    then_.assign(first, first + ring.slots);
    return;
  }
  then_.reserve(moving_.some.size());
  for (int index : moving_.some) then_.push_back(first[index]);
}

bool RingState::same_as_now(std::int64_t iteration, Ticks base_then, Ticks base_now) const {
  if ((iteration - iteration_) % ring_->turn != 0) return false;
  const auto are_same = [&](const SlotTimes& here, const SlotTimes& before) {
    return same(here.ready, base_now, before.ready, base_then) &&
           same(here.free, base_now, before.free, base_then);
  };
  const std::int64_t ahead = index(0, iteration - iteration_);
  const std::int64_t behind = index(0, iteration_ - iteration);
  const auto moved = [&](std::int64_t slot, std::int64_t by) {
    return slot + by < ring_->slots ? slot + by : slot + by - ring_->slots;
  };
  for (std::size_t i = 0; i < then_.size(); ++i) {
    const std::int64_t slot = moving(i);
    if (!are_same(now(moved(slot, ahead)), then_[i])) return false;
    // The slots that are here now may be none of those that were there then.
    if (!moving_.all && !are_same(now(slot), then(moved(slot, behind)))) return false;
  }
  return true;
}

Ticks RingState::growth_at(std::int64_t here, std::int64_t iteration) const {
  return now(here).chain - then(index(here, iteration_ - iteration)).chain;
}

void RingState::add_growth(std::int64_t iteration, std::vector<Ticks>& growth) const {
  std::vector<std::pair<std::int64_t, Ticks>> by_place;
  for (std::size_t i = 0; i < then_.size(); ++i) {
    const std::int64_t here = moving(i);
    if (is_written(now(here), then_[i]))
      by_place.emplace_back(index(here, -iteration), growth_at(here, iteration));
  }
  std::ranges::sort(by_place);
  for (const auto& [place, grown] : by_place) {
    growth.push_back(place);
    growth.push_back(grown);
  }
}

// The k-th repetition changes slots as the period did, k strides further on and k periods later. A slot that
// several repetitions reach keeps the times of the last one.
Ticks RingState::repeat(std::int64_t iteration, std::int64_t count, Ticks period_ticks) const {
  struct Use {
    std::int64_t index;
    SlotTimes times;
    bool writes;
    Ticks grows;  // in a period
  };
  const std::int64_t period = iteration - iteration_;
  std::vector<Use> uses;
  for (std::size_t i = 0; i < then_.size(); ++i) {
    const std::int64_t here = moving(i);
    const SlotTimes& times = now(here);
    if (!is_used(times, then_[i])) continue;
    uses.push_back({here, times, is_written(times, then_[i]),
                    std::clamp<Ticks>(growth_at(here, iteration), 0, period_ticks)});
  }
  std::vector<bool> has_ready(ring_->slots, false);
  std::vector<bool> has_free(ring_->slots, false);
  const std::int64_t last = std::max<std::int64_t>(0, count - ring_->slots);
  for (std::int64_t k = count; k > last; --k) {
    for (const Use& use : uses) {
      const std::int64_t to = index(use.index, k * period);
      SlotTimes& after = now(to);
      if (!has_free[to]) {
        after.free = use.times.free + k * period_ticks;
        after.free_by = use.times.free_by;
      }
      has_free[to] = true;
      if (!use.writes || has_ready[to]) continue;
      has_ready[to] = true;
      after.ready = use.times.ready + k * period_ticks;
      after.ready_by = use.times.ready_by;
      after.chain = use.times.chain + k * use.grows;
    }
    if (ring_->stride == 0) break;  // all come to the same slots
  }
  const auto first = clock_->slots.begin() + ring_->first;
  return std::max_element(first, first + ring_->slots,
                          [](const SlotTimes& a, const SlotTimes& b) { return a.chain < b.chain; })
      ->chain;
}

const SlotTimes& RingState::then(std::int64_t index) const {
  if (moving_.all) return then_[index];
  const auto found = std::ranges::lower_bound(moving_.some, index);
  if (found == moving_.some.end() || *found != index) return now(index);
  return then_[found - moving_.some.begin()];
}

std::int64_t RingState::index(std::int64_t place, std::int64_t iteration) const {
  return executor::slot_for(place + ring_->stride * iteration, ring_->slots);
}

}  // namespace podium::sim
