#include "executor/sim/simulate.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "executor/sim/block_ops.h"
#include "executor/sim/deadlock.h"
#include "executor/sim/events.h"
#include "executor/sim/memory_use.h"
#include "executor/sim/path.h"
#include "executor/sim/task_clock.h"
#include "executor/sim/tasks.h"
#include "executor/sim/walk.h"

namespace podium::sim {
namespace {

using executor::Program;
using executor::Step;

template <std::size_t N>
std::int64_t sum(const std::array<std::int64_t, N>& all) {
  return std::accumulate(all.begin(), all.end(), std::int64_t{0});
}

template <std::size_t N>
std::array<double, N> seconds(const std::array<std::int64_t, N>& ticks) {
  std::array<double, N> all{};
  std::transform(ticks.begin(), ticks.end(), all.begin(), to_seconds);
  return all;
}

void require_known_sizes(const Program& program) {
  for (const executor::Buffer& buffer : program.buffers) {
    if (buffer.type.is_static()) continue;
    throw Error("the size of {} is known only by a run, found {}", buffer.name, to_string(buffer.type));
  }
}

// Checks the accounts that must hold for every run.
void check(const TaskClock& clock, Ticks makespan) {
  std::int64_t sent = 0;
  std::int64_t received = 0;
  for (std::size_t i = 0; i < clock.tallies.size(); ++i) {
    const Tally& tally = clock.tallies[i];
    const std::int64_t total = sum(tally.busy) + sum(tally.idle);
    IR_CHECK(total == makespan, "ipu {} was busy or idle for {} of {} ticks", i, total, makespan);
    IR_CHECK(sum(tally.io_busy) <= makespan && tally.overlapped <= makespan, "the IO lane of ipu {}", i);
    sent += tally.sent;
    received += tally.received;
  }
  IR_CHECK(clock.critical_path <= makespan, "the critical path takes {} ticks, the run {}",
           clock.critical_path, makespan);
  IR_CHECK(sent == received, "{} bytes are sent and {} received", sent, received);
}

// Work does not depend on time: each block's, as often as it runs. The steps are those of `count` iterations,
// which come `rounds` times.
void add_work(const Program& program, const Costs& costs, const std::vector<Step>& steps, double rounds,
              int count, Timeline& timeline) {
  for (const Step& step : steps) {
    const double times = rounds * static_cast<double>(count_of(step.acts, count));
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
      add_work(program, costs, repeat->body, times, repeat->count, timeline);
    }
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    if (compute == nullptr) continue;
    const BlockCost& cost = costs.blocks[compute->block];
    timeline.processors[program[compute->block].processor].flop += times * cost.flop;
    timeline.flop += times * cost.flop;
    timeline.utilisation += times * cost.ideal_seconds;
  }
}

ProcessorReport report_of(const Tally& tally, ProcessorMemory memory) {
  ProcessorReport report{
      .busy = seconds(tally.busy), .idle = seconds(tally.idle), .io_busy = seconds(tally.io_busy)};
  report.overlapped = to_seconds(tally.overlapped);
  std::copy(tally.bytes.begin(), tally.bytes.end(), report.bytes.begin());
  report.memory = memory.use;
  report.largest = std::move(memory.largest);
  return report;
}

}  // namespace

Timeline simulate(const Program& program, const device::Device& device, const SimulateOptions& options) {
  return simulate(program, device, costs_of(program, device, options.io_tiles, options.costs), options);
}

Timeline simulate(const Program& program, const device::Device& device, const Costs& costs,
                  const SimulateOptions& options) {
  require_known_sizes(program);
  const Tasks tasks = make_tasks(program, costs, options.sync);
  check_no_deadlock(program, tasks);
  TaskClock clock(tasks, to_ticks(costs.call_seconds), options.events ? Explains::Waits : Explains::Nothing);
  std::optional<Events> events;
  if (options.events) events.emplace(program);
  Timeline timeline;
  timeline.folded_iterations = walk(tasks, clock, events ? &*events : nullptr);
  const Moment end = clock.finish();
  const Ticks makespan = end.time;
  check(clock, makespan);

  timeline.kind = device.kind;
  timeline.makespan = to_seconds(makespan);
  timeline.critical_path = to_seconds(clock.critical_path);
  timeline.first_output = to_seconds(clock.first_output);
  timeline.path = path_of(program, costs, tasks, clock.log, end);
  timeline.replicas = program.replicas;
  std::vector<ProcessorMemory> memory = memory_of(program, device, costs);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    timeline.processors.push_back(report_of(clock.tallies[i], std::move(memory[i])));
    timeline.bytes_sent += static_cast<double>(clock.tallies[i].sent);
    timeline.bytes_received += static_cast<double>(clock.tallies[i].received);
  }
  add_work(program, costs, program.steps, 1, 1, timeline);
  const double available = timeline.makespan * program.processors;
  timeline.utilisation = available > 0 ? timeline.utilisation / available : 0;
  for (std::size_t i = 0; i < clock.link_tallies.size(); ++i) {
    const LinkTally& link = clock.link_tallies[i];
    const auto of_all = static_cast<double>(link.of_all_replicas);
    const double of_one = static_cast<double>(link.bytes - link.of_all_replicas) + of_all / program.replicas;
    timeline.links.push_back({to_string(tasks.links[i], device.kind), static_cast<double>(link.bytes), of_one,
                              to_seconds(link.busy)});
  }
  if (!events) return timeline;
  const auto awaited = awaited_by(program, tasks, *clock.waits);
  for (std::size_t i = 0; i < awaited.size(); ++i) timeline.processors[i].awaited = awaited[i];
  events->put_into(timeline, clock.log, end);
  timeline.blocks = block_reports(program, costs);
  return timeline;
}

}  // namespace podium::sim
