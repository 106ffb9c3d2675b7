// The state of a loop part is all that decides its future: times of lanes, barriers and links relative to the
// earliest lane, slots of its rings relative to the iteration, intervals of overlap not yet met. When a state
// is met again, the iterations between are a period: the rest is multiplied (times are shifted, tallies and
// offers scaled). Outputs of which only some offers move bound the multiple, so that no change is jumped
// over.
#include "executor/sim/steady_state.h"

#include <algorithm>
#include <numeric>

namespace podium::sim {
namespace {

// How much later it is after `count` periods more.
Ticks later_by(std::int64_t count, Ticks period_ticks, Ticks now) {
  Ticks by = 0;
  if (__builtin_mul_overflow(count, period_ticks, &by) || by > kLongestRun - now) {
    throw Error("the run takes more than {} days: no more can be clocked", kLongestRunDays);
  }
  return by;
}

bool same(const std::deque<Interval>& a, Ticks base_a, const std::deque<Interval>& b, Ticks base_b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const Interval& one, const Interval& other) {
    return one.start - base_a == other.start - base_b && one.end - base_a == other.end - base_b &&
           one.busy == other.busy;
  });
}

void shift(Overlap& overlap, Ticks by) {
  for (std::deque<Interval>* lane : {&overlap.compute, &overlap.io}) {
    for (Interval& interval : *lane) interval = {interval.start + by, interval.end + by, interval.busy};
  }
}

std::int64_t sum(const std::array<std::int64_t, kActivities>& all) {
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

}  // namespace

Ticks earliest_lane(const LoopPart& part, const TaskClock& clock) {
  Ticks earliest = clock.lanes[part.lanes.front()];
  for (int lane : part.lanes) earliest = std::min<Ticks>(earliest, clock.lanes[lane]);
  return earliest;
}

LoopStart::LoopStart(const LoopPart& part, TaskClock& clock, std::int64_t iteration)
    : part_(&part), iteration_(iteration), late_(part.rings.size()) {
  for (int lane : part.lanes) clock.settle(lane);
  const Ticks base = earliest_lane(part, clock);
  for (std::size_t i = 0; i < part.rings.size(); ++i) {
    const Ring& ring = part.rings[i];
    if (ring.stride == 0) continue;
    for (int slot = 0; slot < ring.slots; ++slot) {
      const SlotTimes& times = clock.slots[ring.first + slot];
      if (times.ready > base || times.free > base) late_[i].push_back(slot);
    }
  }
}

RingSlots LoopStart::moving_slots(std::size_t ring, std::int64_t end) const {
  return sim::moving_slots(part_->rings[ring], late_[ring], iteration_, end);
}

LoopState::LoopState(const LoopPart& part, TaskClock& clock, std::int64_t iteration, const LoopStart& start,
                     std::int64_t end)
    : part_(&part),
      clock_(&clock),
      iteration_(iteration),
      first_walked_(clock.log.size()),
      critical_path_(clock.critical_path),
      offers_(clock.offers) {
  for (int lane : part.lanes) clock.settle(lane);
  if (clock.waits) first_wait_ = clock.waits->size();
  base_ = earliest_lane();
  for (const Ticks* time : times()) times_.push_back(*time);
  for (std::size_t i = 0; i < part.rings.size(); ++i)
    rings_.emplace_back(part.rings[i], clock, iteration, start.moving_slots(i, end));
  for (int processor : part.processors) {
    overlaps_.push_back(clock.overlaps[processor]);
    tallies_.push_back(clock.tallies[processor]);
  }
  for (int link : part.links) link_tallies_.push_back(clock.link_tallies[link]);
}

bool LoopState::same_as_now(std::int64_t iteration) const {
  for (int lane : part_->lanes) clock_->settle(lane);
  const Ticks base = earliest_lane();
  const std::vector<Ticks*> now = times();
  for (std::size_t i = 0; i < now.size(); ++i) {
    if (std::max(*now[i], base) - base != std::max(times_[i], base_) - base_) return false;
  }
  for (const RingState& ring : rings_) {
    if (!ring.same_as_now(iteration, base_, base)) return false;
  }
  for (std::size_t i = 0; i < part_->processors.size(); ++i) {
    if (!uses_both_lanes(part_->processors[i])) continue;
    const Overlap& overlap = clock_->overlaps[part_->processors[i]];
    if (!same(overlap.compute, base, overlaps_[i].compute, base_)) return false;
    if (!same(overlap.io, base, overlaps_[i].io, base_)) return false;
  }
  return true;
}

std::int64_t LoopState::times_more(const Tasks& tasks, std::int64_t most) const {
  for (int output : part_->outputs) {
    const OutputRhythm& rhythm = tasks.outputs[output];
    const std::int64_t offers = clock_->offers[output] - offers_[output];
    if (rhythm.quiet == 0 || offers % rhythm.period == 0) continue;
    const std::int64_t phase = offers_[output] % rhythm.period;
    const std::int64_t change = phase < rhythm.quiet ? rhythm.quiet : rhythm.period;
    if (phase + offers > change) return 0;
    most = std::min(most, (change - phase - offers) / offers);
  }
  return most;
}

void LoopState::repeat(std::int64_t iteration, std::int64_t count) const {
  const Ticks period_ticks = earliest_lane() - base_;
  const Ticks by = later_by(count, period_ticks, earliest_lane());
  Ticks& critical = clock_->critical_path;
  critical += count * std::min(critical - critical_path_, period_ticks);
  for (const RingState& ring : rings_)
    critical = std::max(critical, ring.repeat(iteration, count, period_ticks));
  const std::vector<Ticks*> moved = times();
  for (std::size_t i = 0; i < moved.size(); ++i) {
    if (*moved[i] != times_[i]) *moved[i] += by;
  }
  for (int lane : part_->lanes) {
    Moment& latest = clock_->barriers[lane % kBarriers].latest;
    latest = later(latest, clock_->lanes[lane]);
  }
  for (int output : part_->outputs) {
    std::int64_t& offers = clock_->offers[output];
    offers += count * (offers - offers_[output]);
  }
  repeat_tallies(count, period_ticks);
  clock_->log.fold(first_walked_, period_ticks, count);
  if (clock_->waits) clock_->waits->repeat(first_wait_, count);
}

std::vector<Ticks*> LoopState::times() const {
  std::vector<Ticks*> all;
  for (int lane : part_->lanes) all.push_back(&clock_->lanes[lane].time);
  for (int barrier = 0; barrier < kBarriers; ++barrier) {
    if ((part_->barriers >> barrier & 1) == 0) continue;
    all.push_back(&clock_->barriers[barrier].released.time);
    all.push_back(&clock_->barriers[barrier].latest.time);
  }
  for (int link : part_->links) all.push_back(&clock_->links[link].time);
  for (int processor : part_->passing) all.push_back(&clock_->passed[processor].time);
  return all;
}

bool LoopState::uses_both_lanes(int processor) const {
  const std::vector<int>& lanes = part_->lanes;
  return std::binary_search(lanes.begin(), lanes.end(), 2 * processor) &&
         std::binary_search(lanes.begin(), lanes.end(), 2 * processor + 1);
}

std::vector<Ticks> LoopState::chain_growth(std::int64_t iteration) const {
  std::vector<Ticks> growth{clock_->critical_path - critical_path_};
  for (const RingState& ring : rings_) ring.add_growth(iteration, growth);
  return growth;
}

void LoopState::repeat_tallies(std::int64_t count, Ticks period_ticks) const {
  for (std::size_t i = 0; i < part_->processors.size(); ++i) {
    Tally& tally = clock_->tallies[part_->processors[i]];
    const Tally now = tally;
    tally.repeat_since(tallies_[i], count);
    if (uses_both_lanes(part_->processors[i])) {
      shift(clock_->overlaps[part_->processors[i]], count * period_ticks);
    } else {
      tally.overlapped =
          now.overlapped + overlap_alone(part_->processors[i], tallies_[i], now, count, period_ticks);
    }
  }
  for (std::size_t i = 0; i < part_->links.size(); ++i) {
    LinkTally& now = clock_->link_tallies[part_->links[i]];
    now.busy += count * (now.busy - link_tallies_[i].busy);
    now.bytes += count * (now.bytes - link_tallies_[i].bytes);
    now.of_all_replicas += count * (now.of_all_replicas - link_tallies_[i].of_all_replicas);
  }
}

// The work of the loop on one lane alone becomes one long interval, which the other lane may meet at any
// time.
Ticks LoopState::overlap_alone(int processor, const Tally& then, const Tally& now, std::int64_t count,
                               Ticks period_ticks) const {
  const bool is_compute = std::binary_search(part_->lanes.begin(), part_->lanes.end(), 2 * processor);
  const auto kCompute = static_cast<std::size_t>(Activity::Compute);
  const Ticks busy =
      is_compute ? now.busy[kCompute] - then.busy[kCompute] : sum(now.io_busy) - sum(then.io_busy);
  if (busy == 0) return 0;
  const Ticks compute_now = clock_->lanes[2 * processor];
  const Ticks io_now = clock_->lanes[2 * processor + 1];
  const Ticks end = is_compute ? compute_now : io_now;
  Overlap& overlap = clock_->overlaps[processor];
  (is_compute ? overlap.compute : overlap.io).push_back({end - count * period_ticks, end, count * busy});
  return overlap.meet(compute_now, io_now);
}

}  // namespace podium::sim
