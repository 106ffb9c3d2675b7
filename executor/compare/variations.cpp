// A variation is a row of kVariations: what it does to the strategy, and what a device has to have for it. A
// better machine is the device with one of its rates doubled; a program is clocked on all of them side by
// side.
#include "executor/compare/variations.h"

#include <algorithm>
#include <exception>
#include <optional>

#include "executor/compare/strategy_sizes.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "executor/session/read_options.h"

namespace podium::compare {
namespace {

struct Around {
  const Request& request;
  const std::vector<std::string>& outputs;
};

struct Vary {
  bool (*apply)(Strategy&, const Around&);  ///< whether it applies, once it has changed the strategy
  bool (*has_what_it_takes)(const Request&) = nullptr;  ///< of the device; absent: each has
};

// A line that names a hundred outputs nobody reads.
bool vary_final_outputs(Strategy& strategy, const Around& around) {
  constexpr std::size_t kMostNamed = 4;
  if (around.request.task == Task::Training || strategy.batches_per_step == 1) return false;
  const bool names_each = around.outputs.size() <= kMostNamed;
  for (const std::string& output : names_each ? around.outputs : std::vector<std::string>{"*"})
    strategy.anchors.try_emplace(output, Anchor{.returns = AnchorReturn::Final});
  return true;
}

bool vary_more_micro_batches(Strategy& strategy, const Around& around) {
  (around.request.task == Task::Training ? strategy.accumulation_factor : strategy.batches_per_step) *= 2;
  return true;
}

bool vary_more_stages(Strategy& strategy, const Around& around) {
  strategy.ipus *= 2;
  return strategy.virtual_graph_mode == VirtualGraphMode::Auto && strategy.ipus <= around.request.processors;
}

bool vary_fewer_stages(Strategy& strategy, const Around& /*around*/) {
  const int of_replica = strategy.ipus / strategy.replicas;
  strategy.ipus /= 2;
  return strategy.virtual_graph_mode == VirtualGraphMode::Auto && of_replica >= 4 && of_replica % 2 == 0;
}

// Where nobody said how many there are; 0 where the model's annotations alone do.
int processors_of_replica(const Strategy& strategy) {
  if (strategy.ipus > 0) return strategy.ipus / strategy.replicas;
  if (strategy.virtual_graph_mode == VirtualGraphMode::ExecutionPhases) return strategy.phases.stages;
  return strategy.virtual_graph_mode == VirtualGraphMode::Off ? 1 : 0;
}

bool vary_more_replicas(Strategy& strategy, const Around& around) {
  const int of_replica = processors_of_replica(strategy);
  strategy.replicas *= 2;
  strategy.ipus = of_replica * strategy.replicas;
  return std::max(strategy.ipus, strategy.replicas) <= around.request.processors;
}

bool vary_recomputed(Strategy& strategy, const Around& around) {
  strategy.recomputation = strategy.pipelining ? Recomputation::Pipeline : Recomputation::Standard;
  return around.request.task == Task::Training;
}

bool vary_kept(Strategy& strategy, const Around& /*around*/) {
  strategy.recomputation = Recomputation::None;
  return true;
}

bool vary_optimizer_off_chip(Strategy& strategy, const Around& around) {
  strategy.optimizer_state.location.storage = ir::Storage::OffChip;
  return around.request.task == Task::Training;
}

bool vary_weights_off_chip(Strategy& strategy, const Around& /*around*/) {
  strategy.weights.location.storage = ir::Storage::OffChip;
  return true;
}

bool vary_overlapped(Strategy& strategy, const Around& around) {
  if (strategy.virtual_graph_mode == VirtualGraphMode::Off) return false;
  if (strategy.io_tiles == 0) strategy.io_tiles = sensible_io_tiles(around.request);
  strategy.overlap_io = ir::ExchangeStrategy::OverlapInnerLoop;
  return true;
}

constexpr Vary kVariations[] = {{vary_final_outputs},
                                {vary_more_micro_batches},
                                {vary_more_stages},
                                {vary_fewer_stages},
                                {vary_more_replicas},
                                {vary_recomputed},
                                {vary_kept},
                                {vary_optimizer_off_chip, has_streaming_memory},
                                {vary_weights_off_chip, has_streaming_memory},
                                {vary_overlapped, has_io_tiles}};

// What a processor's like units are called.
std::string_view units_of(device::ProcessorKind kind) {
  switch (kind) {
    case device::ProcessorKind::Ipu:
      return "tiles";
    case device::ProcessorKind::Gpu:
      return "multiprocessors";
    case device::ProcessorKind::Tpu:
    case device::ProcessorKind::Cpu:
      return "cores";
  }
  IR_CHECK(false);
}

// Small transfers are as long as what they cost beside their bytes.
void better(device::Link& link) {
  link.bytes_per_second *= 2;
  link.latency_seconds /= 2;
}

void better_links(device::Device& device) {
  for (device::Link device::Device::*link :
       {&device::Device::rung, &device::Device::rail, &device::Device::gateway})
    better(device.*link);
  device.collective_overhead_seconds /= 2;
  device.global_sync_seconds /= 2;
}

void better_streaming(device::Device& device) {
  better(device.streaming_load);
  better(device.streaming_store);
  device.sharded_transaction_seconds /= 2;
}

void better_host(device::Device& device) {
  better(device.host_load);
  better(device.host_store);
  device.host_call_seconds /= 2;
  device.dispatch_seconds /= 2;
}

}  // namespace

std::vector<Variation> variations(const Candidate& from, const Request& request,
                                  const std::vector<std::string>& outputs) {
  std::vector<Variation> found;
  for (const Vary& vary : kVariations) {
    if (vary.has_what_it_takes != nullptr && !vary.has_what_it_takes(request)) continue;
    Candidate candidate = from;
    if (!vary.apply(candidate.strategy, {request, outputs}) || why_illegal(candidate.strategy)) continue;
    nlohmann::json changed = write_options(candidate.strategy, from.strategy);
    if (changed.empty()) continue;
    candidate.document.merge_patch(changed);
    found.push_back({std::move(candidate), std::move(changed)});
  }
  return found;
}

std::vector<BetterDevice> better_devices(const device::Device& device) {
  std::vector<BetterDevice> found(5, BetterDevice{.name = "", .device = device});
  found[0].name = "links between processors";
  better_links(found[0].device);
  found[1].name = "the way to streaming memory and the host";
  better_streaming(found[1].device);
  found[2].name = "the host and its link";
  better_host(found[2].device);
  found[3].name = "the clock";
  found[3].device.clock_hertz *= 2;
  found[4].name = units_of(device.kind);
  found[4].device.tiles *= 2;
  return found;
}

std::vector<sim::Timeline> clock_on(const std::vector<BetterDevice>& devices, int threads,
                                    const std::function<sim::Timeline(const device::Device&)>& clock) {
  std::vector<std::optional<sim::Timeline>> found(devices.size());
  std::vector<std::exception_ptr> failures(devices.size());
  const int most = threads > 0 ? threads : kernels::machine_threads();
  kernels::for_each_on(most, std::ssize(devices), [&](std::int64_t i) {
    try {
      found[i] = clock(devices[i].device);
    } catch (const Error&) {
      found[i].reset();
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  std::vector<sim::Timeline> clocked;
  for (std::optional<sim::Timeline>& one : found) {
    if (!one) break;
    clocked.push_back(std::move(*one));
  }
  return clocked;
}

}  // namespace podium::compare
