#include "executor/sim/path.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "executor/sim/block_ops.h"
#include "executor/sim/events.h"
#include "executor/slots.h"

namespace podium::sim {
namespace {

using executor::Program;

// The largest of its transfers stands for an exchange.
const executor::Transfer& largest_of(const Program& program, const executor::CopyBetweenProcessors& copy) {
  return *std::ranges::max_element(
      copy.transfers, {}, [&](const executor::Transfer& one) { return slot_bytes(program[one.to.buffer]); });
}

// Who moves most stands for all that move.
const LaneUse& busiest(const Task& task) {
  return *std::ranges::max_element(task.lanes, {}, &LaneUse::bytes);
}

// Who was busy with a task.
int doer_of(const Program& program, const Task& task) {
  if (const auto* compute = std::get_if<executor::Compute>(&task.step->action))
    return program[compute->block].processor;
  if (const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&task.step->action))
    return program[largest_of(program, *copy).from.buffer].processor;
  return busiest(task).processor;
}

class PathMaker {
 public:
  PathMaker(const Program& program, const Costs& costs) : program_(program), costs_(costs) {}

  void add(const Task& task, double seconds) {
    if (const auto* compute = std::get_if<executor::Compute>(&task.step->action))
      return add_block(*compute, to_seconds(task.ticks), seconds);
    const LaneUse& most = busiest(task);
    PathPart part{.processor = most.processor,
                  .activity = task.activity,
                  .name = what_of(program_, *task.step, most.processor),
                  .seconds = seconds,
                  .step_seconds = to_seconds(task.ticks),
                  .step_bytes = static_cast<double>(std::max(task.sent, task.received))};
    if (const auto* copy = std::get_if<executor::CopyBetweenProcessors>(&task.step->action)) {
      name_exchange(*copy, part);
    }
    if (task.activity == Activity::RemoteLoad || task.activity == Activity::RemoteStore)
      part.step_bytes = static_cast<double>(most.bytes);
    add(std::move(part));
  }

  std::vector<PathPart> take() {
    std::vector<PathPart> parts;
    for (auto& [key, part] : parts_) parts.push_back(std::move(part));
    std::stable_sort(parts.begin(), parts.end(),
                     [](const PathPart& a, const PathPart& b) { return a.seconds > b.seconds; });
    return parts;
  }

 private:
  void name_exchange(const executor::CopyBetweenProcessors& copy, PathPart& part) const {
    const executor::Transfer& largest = largest_of(program_, copy);
    part.processor = program_[largest.from.buffer].processor;
    part.receiver = program_[largest.to.buffer].processor;
    part.name = program_[largest.to.buffer].name;
  }

  void add_block(const executor::Compute& compute, double step_seconds, double seconds) {
    const BlockCost& cost = costs_.blocks[compute.block];
    const executor::Block& block = program_[compute.block];
    double of_kernels = 0;
    for (const KernelTime& kernel : cost.kernels) of_kernels += kernel.seconds;
    if (of_kernels <= 0) {
      return add({.processor = block.processor,
                  .name = name_of(program_, compute),
                  .seconds = seconds,
                  .step_seconds = step_seconds});
    }
    for (const KernelTime& kernel : cost.kernels) {
      const double share = kernel.seconds / of_kernels;
      add({.processor = block.processor,
           .name = name_of_kernel(block.graph, kernel),
           .seconds = share * seconds,
           .step_seconds = share * step_seconds});
    }
  }

  void add(PathPart part) {
    const double seconds = part.seconds;
    const Key key(part.processor, part.activity, part.receiver, part.name);
    const auto [entry, is_new] = parts_.emplace(key, std::move(part));
    if (!is_new) entry->second.seconds += seconds;
  }

  using Key = std::tuple<int, Activity, int, std::string>;

  const Program& program_;
  const Costs& costs_;
  std::map<Key, PathPart> parts_;
};

}  // namespace

std::vector<PathPart> path_of(const Program& program, const Costs& costs, const Tasks& tasks,
                              const StartLog& log, Moment end) {
  PathMaker maker(program, costs);
  const std::vector<std::int64_t> ticks = log.ticks_on_path(end, tasks.tasks.size());
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    if (ticks[i] > 0) maker.add(tasks.tasks[i], to_seconds(ticks[i]));
  }
  return maker.take();
}

std::vector<std::vector<Awaited>> awaited_by(const Program& program, const Tasks& tasks, const Waits& waits) {
  std::vector<std::vector<Awaited>> all;
  for (const auto& by_task : waits.by_task(tasks.processors)) {
    std::map<std::pair<int, Activity>, Ticks> by_doer;
    for (const auto& [number, ticks] : by_task) {
      if (number == kNobody) {
        by_doer[{-1, Activity::Compute}] += ticks;
      } else {
        const Task& task = tasks.tasks[number];
        by_doer[{doer_of(program, task), task.activity}] += ticks;
      }
    }
    std::vector<Awaited>& found = all.emplace_back();
    for (const auto& [doer, ticks] : by_doer) found.push_back({doer.first, doer.second, to_seconds(ticks)});
    std::ranges::stable_sort(found, std::ranges::greater(), &Awaited::seconds);
    if (found.size() > kMostAwaited) found.resize(kMostAwaited);
  }
  return all;
}

}  // namespace podium::sim
