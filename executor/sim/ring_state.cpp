#include "executor/sim/ring_state.h"

#include <algorithm>

namespace podium::sim {

RingState::RingState(const Ring& ring, TaskClock& clock, std::int64_t iteration)
    : ring_(&ring), clock_(&clock), iteration_(iteration) {
  const auto first = clock.slots.begin() + ring.first;
  then_.assign(first, first + ring.slots);
}

bool RingState::same_as_now(std::int64_t iteration, Ticks base_then, Ticks base_now) const {
  if ((iteration - iteration_) % ring_->turn != 0) return false;
  const auto same = [&](Ticks now, Ticks then) {
    return std::max(now, base_now) - base_now == std::max(then, base_then) - base_then;
  };
  for (int place = 0; place < ring_->slots; ++place) {
    const SlotTimes& slot = now(index(place, iteration));
    const SlotTimes& then = then_[index(place, iteration_)];
    if (!same(slot.ready, then.ready) || !same(slot.free, then.free)) return false;
  }
  return true;
}

void RingState::add_growth(std::int64_t iteration, std::vector<Ticks>& growth) const {
  for (int place = 0; place < ring_->slots; ++place) {
    const std::int64_t here = index(place, iteration);
    growth.push_back(is_written(here) ? now(here).chain - then_[index(place, iteration_)].chain : 0);
  }
}

// The k-th repetition changes slots as the period did, k strides further on and k periods later. A slot that
// several repetitions reach keeps the times of the last one.
Ticks RingState::repeat(std::int64_t iteration, std::int64_t count, Ticks period_ticks) const {
  const std::int64_t period = iteration - iteration_;
  std::vector<std::int64_t> used;
  for (std::int64_t i = 0; i < ring_->slots; ++i) {
    if (is_used(i)) used.push_back(i);
  }
  std::vector<Ticks> growth;
  add_growth(iteration, growth);
  std::vector<SlotTimes> after(clock_->slots.begin() + ring_->first,
                               clock_->slots.begin() + ring_->first + ring_->slots);
  std::vector<bool> has_ready(then_.size(), false);
  std::vector<bool> has_free(then_.size(), false);
  const std::int64_t last = std::max<std::int64_t>(0, count - ring_->slots);
  for (std::int64_t k = count; k > last; --k) {
    for (std::int64_t from : used) {
      const std::int64_t to = index(from, k * period);
      if (!has_free[to]) {
        after[to].free = now(from).free + k * period_ticks;
        after[to].free_by = now(from).free_by;
      }
      has_free[to] = true;
      if (!is_written(from) || has_ready[to]) continue;
      has_ready[to] = true;
      const std::int64_t place = index(from, -iteration);
      const Ticks grows = std::clamp<Ticks>(growth[place], 0, period_ticks);
      after[to].ready = now(from).ready + k * period_ticks;
      after[to].ready_by = now(from).ready_by;
      after[to].chain = now(from).chain + k * grows;
    }
    if (ring_->stride == 0) break;  // all come to the same slots
  }
  std::copy(after.begin(), after.end(), clock_->slots.begin() + ring_->first);
  const auto shorter = [](const SlotTimes& a, const SlotTimes& b) { return a.chain < b.chain; };
  return std::max_element(after.begin(), after.end(), shorter)->chain;
}

std::int64_t RingState::index(std::int64_t place, std::int64_t iteration) const {
  const std::int64_t index = (place + ring_->stride * iteration) % ring_->slots;
  return index < 0 ? index + ring_->slots : index;
}

}  // namespace podium::sim
