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

  void add(const Task& task, const OnPath& on_path) {
    const double seconds = to_seconds(on_path.ticks);
    const auto times = static_cast<double>(on_path.times);
    if (const auto* compute = std::get_if<executor::Compute>(&task.step->action))
      return add_block(*compute, times, seconds);
    const LaneUse& most = busiest(task);
    PathPart part{.processor = most.processor,
                  .activity = task.activity,
                  .name = what_of(program_, *task.step, most.processor),
                  .seconds = seconds,
                  .times = times,
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

  void add_block(const executor::Compute& compute, double times, double seconds) {
    const BlockCost& cost = costs_.blocks[compute.block];
    const executor::Block& block = program_[compute.block];
    double of_kernels = 0;
    for (const KernelTime& kernel : cost.kernels) of_kernels += kernel.seconds;
    if (of_kernels <= 0) {
      return add({.processor = block.processor,
                  .name = name_of(program_, compute),
                  .seconds = seconds,
                  .times = times});
    }
    for (const KernelTime& kernel : cost.kernels) {
      const double share = kernel.seconds / of_kernels;
      add({.processor = block.processor,
           .name = name_of_kernel(block.graph, kernel),
           .seconds = share * seconds,
           .times = times});
    }
  }

  void add(PathPart part) {
    PathPart& whole = parts_[{part.processor, part.activity, part.receiver, part.name}];
    const double times = whole.times + part.times;
    const double bytes = whole.times * whole.step_bytes + part.times * part.step_bytes;
    const double seconds = whole.seconds + part.seconds;
    whole = std::move(part);
    whole.seconds = seconds;
    whole.times = times;
    whole.step_bytes = times > 0 ? bytes / times : 0;
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
  const std::vector<OnPath> found = log.on_path(end, tasks.tasks.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i].ticks > 0) maker.add(tasks.tasks[i], found[i]);
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
