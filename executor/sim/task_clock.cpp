// A task starts at the latest of: its slots are filled and free, its lanes and the sync group that it holds
// have arrived, its links are free. Until then its lanes are idle, and the account says for what: data first,
// then sync, then links. Barriers hold groups of lanes by half (even or odd processors) and kind of lane: a
// barrier has the time when it was last released, which lanes take over when they are used next (settle), and
// the latest time of its lanes. Slots also carry the longest chain of tasks that led to their contents: the
// critical path.
#include "executor/sim/task_clock.h"

#include <algorithm>
#include <tuple>

namespace podium::sim {
namespace {

template <std::size_t N>
void repeat(std::array<std::int64_t, N>& now, const std::array<std::int64_t, N>& then, std::int64_t times) {
  for (std::size_t i = 0; i < N; ++i) now[i] += times * (now[i] - then[i]);
}

int compute_lane(int processor) { return 2 * processor; }
int io_lane(int processor) { return 2 * processor + 1; }

bool holds(const Task& task, int barrier) { return (task.barriers >> barrier & 1) != 0; }

}  // namespace

void Tally::repeat_since(const Tally& then, std::int64_t times) {
  repeat(busy, then.busy, times);
  repeat(idle, then.idle, times);
  repeat(io_busy, then.io_busy, times);
  repeat(bytes, then.bytes, times);
  overlapped += times * (overlapped - then.overlapped);
  sent += times * (sent - then.sent);
  received += times * (received - then.received);
}

TaskClock::TaskClock(const Tasks& tasks, Ticks start, Explains explains)
    : lanes(2 * tasks.processors),
      passed(tasks.processors),
      links(tasks.links.size()),
      slots(tasks.slots),
      offers(tasks.outputs.size(), 0),
      overlaps(tasks.processors),
      tallies(tasks.processors),
      link_tallies(tasks.links.size()),
      tasks_(tasks),
      has_io_(tasks.processors, false) {
  for (const Task& task : tasks.tasks) {
    for (const LaneUse& use : task.lanes) {
      if (use.lane == Lane::Io && use.is_held) has_io_[use.processor] = true;
    }
  }
  if (explains == Explains::Waits) waits.emplace();
  for (int lane = 0; lane < 2 * tasks.processors; ++lane) wait(lane, {start}, Idle::Io);
  for (BarrierTimes& barrier : barriers) barrier = {{start}, {start}};
}

Span TaskClock::run(const Task& task, std::int64_t iteration) {
  if (!moves(task)) return {};
  for (const LaneUse& use : task.lanes) {
    if (use.is_held) settle(use.number());
  }

  const Moment data = when_filled(task, iteration);
  const Moment synced = when_synced(task);
  Moment start = later(data, synced);
  for (const LinkHold& link : task.links) {
    if (!link.has_room) start = later(start, {links[link.link] - link.backlog, links[link.link].by});
  }
  const Span span{start, start + task.ticks};
  const auto number = log.add(task.number, start.by, start);

  for (const LaneUse& use : task.lanes) {
    if (!use.is_held) {
      pass_by(task, use, span, number);
      continue;
    }
    if (task.activity == Activity::TileCopy) wait(use.number(), lanes[io_lane(use.processor)], Idle::Io);
    wait(use.number(), data, Idle::Data);
    wait(use.number(), synced, Idle::Sync);
    wait(use.number(), start, Idle::Link);
    work(task, use, span, number);
  }
  const std::int64_t micro_batch = task.step->micro_batch + task.step->micro_batch_stride * iteration;
  if (task.activity == Activity::HostStore && micro_batch == 0)
    first_output = std::max(first_output, span.end);
  hold(task, span, number);
  touch_slots(task, iteration, span, number);
  return span;
}

// Each transfer continues the chain of its own source slot; other tasks continue the longest chain of all
// slots that they read.
void TaskClock::touch_slots(const Task& task, std::int64_t iteration, Span span, std::int32_t number) {
  Ticks longest = 0;
  chains_.clear();
  for (const SlotUse& use : task.reads) {
    SlotTimes& slot = slots[use.number(iteration)];
    if (span.end > slot.free) std::tie(slot.free, slot.free_by) = std::tie(span.end, number);
    chains_.push_back(slot.chain + task.ticks);
    longest = std::max(longest, slot.chain);
  }
  longest += task.ticks;
  critical_path = std::max(critical_path, longest);
  const bool one_by_one = task.activity == Activity::Exchange || task.activity == Activity::RemoteLoad ||
                          task.activity == Activity::RemoteStore;
  for (std::size_t i = 0; i < task.writes.size(); ++i) {
    const Ticks early = task.writes[i].early;
    const Ticks chain = (one_by_one ? chains_[i] : longest) - early;
    slots[task.writes[i].number(iteration)] = {span.end - early, span.end - early, chain, number, number};
  }
}

Moment TaskClock::finish() {
  Moment end;
  for (const BarrierTimes& barrier : barriers) end = later(end, barrier.latest);
  for (const Moment& moment : passed) end = later(end, moment);
  for (int lane = 0; lane < std::ssize(lanes); ++lane) {
    settle(lane);
    wait(lane, end, Idle::Sync);
  }
  return end;
}

void TaskClock::settle(int lane) { wait(lane, barriers[lane % kBarriers].released, Idle::Sync); }

void TaskClock::wait(int lane, Moment until, Idle reason) {
  Moment& now = lanes[lane];
  if (until <= now) return;
  const bool is_compute = lane == compute_lane(lane / 2);
  if (is_compute) tallies[lane / 2].idle[static_cast<std::size_t>(reason)] += until - now;
  if (is_compute && waits) waits->note(lane / 2, now, until, log);
  now = until;
}

// When its reads are ready and its writes free.
Moment TaskClock::when_filled(const Task& task, std::int64_t iteration) const {
  Moment data;
  for (const SlotUse& use : task.reads) {
    const SlotTimes& slot = slots[use.number(iteration)];
    data = later(data, {slot.ready, slot.ready_by});
  }
  for (const SlotUse& use : task.writes) {
    const SlotTimes& slot = slots[use.number(iteration)];
    data = later(data, {slot.free, slot.free_by});
  }
  return data;
}

// When all lanes of the task, and of the groups that it holds, have arrived.
Moment TaskClock::when_synced(const Task& task) const {
  Moment arrived;
  for (const LaneUse& use : task.lanes) {
    if (use.is_held) arrived = later(arrived, lanes[use.number()]);
  }
  for (int barrier = 0; barrier < kBarriers; ++barrier) {
    if (holds(task, barrier)) arrived = later(arrived, barriers[barrier].latest);
  }
  return arrived;
}

void TaskClock::hold(const Task& task, Span span, std::int32_t number) {
  for (int barrier = 0; barrier < kBarriers; ++barrier) {
    if (holds(task, barrier)) barriers[barrier] = {{span.end, number}, {span.end, number}};
  }
  for (const LinkHold& link : task.links) {
    if (!link.has_room)
      links[link.link] = {std::max<Ticks>(links[link.link], span.start) + link.ticks, number};
    LinkTally& moved = link_tallies[link.link];
    moved.busy += link.ticks;
    moved.bytes += link.bytes;
    if (task.activity == Activity::Collective) moved.of_all_replicas += link.bytes;
  }
  Tally& tally = tallies[task.lanes.front().processor];
  tally.sent += task.sent;
  tally.received += task.received;
}

void TaskClock::pass_by(const Task& task, const LaneUse& use, Span span, std::int32_t number) {
  tallies[use.processor].bytes[static_cast<std::size_t>(task.activity)] += use.bytes;
  passed[use.processor] = later(passed[use.processor], {span.end, number});
}

void TaskClock::work(const Task& task, const LaneUse& use, Span span, std::int32_t number) {
  const auto activity = static_cast<std::size_t>(task.activity);
  const bool is_compute = use.lane == Lane::Compute;
  Tally& tally = tallies[use.processor];
  (is_compute ? tally.busy : tally.io_busy)[activity] += task.ticks;
  // A copy between tiles is on both lanes, and moves its bytes once.
  if (task.activity != Activity::TileCopy || is_compute) tally.bytes[activity] += use.bytes;
  lanes[use.number()] = {span.end, number};
  Moment& latest = barriers[use.number() % kBarriers].latest;
  latest = later(latest, {span.end, number});

  if (!has_io_[use.processor] || task.ticks == 0) return;
  Overlap& overlap = overlaps[use.processor];
  const Interval interval{span.start, span.end, task.ticks};
  if (!is_compute) overlap.io.push_back(interval);
  if (is_compute && task.activity == Activity::Compute) overlap.compute.push_back(interval);
  tally.overlapped += overlap.meet(lanes[compute_lane(use.processor)], lanes[io_lane(use.processor)]);
}

// Counts an offer to the host, and says whether it is one that moves (HostTensor::every).
bool TaskClock::moves(const Task& task) {
  if (task.output < 0) return true;
  const OutputRhythm& rhythm = tasks_.outputs[task.output];
  return offers[task.output]++ % rhythm.period >= rhythm.quiet;
}

}  // namespace podium::sim
