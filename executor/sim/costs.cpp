// Blocks cost what block_cost says; a movement costs a sync on a synchronous device and the time of its
// routes (routes.h). Replicas do the same at the same time: routes are those of replica 0, and the link to
// the host is shared by the replicas on one machine. Collectives of one kind, group and size cost the same
// and are thought out once.
#include "executor/sim/costs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "executor/sim/op_cost.h"
#include "executor/sim/routes.h"

namespace podium::sim {
namespace {

using executor::Buffer;
using executor::Program;
using executor::Slot;

// The cost of a step that moves data, from the routes of replica 0: the other replicas do the same beside it.
struct Movement {
  const Program& program;
  const device::Device& device;
  int io_tiles = 0;
  using CollectiveKey = std::tuple<executor::CollectiveKind, ir::GroupType, int, int, double>;
  std::shared_ptr<std::map<CollectiveKey, StepCost>> collectives =
      std::make_shared<std::map<CollectiveKey, StepCost>>();

  ir::IdMap<executor::BufferId, double> slot_bytes = slot_bytes_of(program);

  static ir::IdMap<executor::BufferId, double> slot_bytes_of(const Program& program) {
    ir::IdMap<executor::BufferId, double> all;
    for (const Buffer& buffer : program.buffers)
      all.push_back(static_cast<double>(executor::slot_bytes(buffer)));
    return all;
  }
  const Buffer& buffer(const Slot& slot) const { return program[slot.buffer]; }
  double bytes(const Slot& slot) const { return slot_bytes[slot.buffer]; }
  double sync_seconds() const {
    if (!device.synchronous) return 0;
    const bool is_alone = program.processors * program.replicas == 1;
    return is_alone ? device.sync_cycles / device.clock_hertz : device.global_sync_seconds;
  }

  // To or from a processor.
  StepCost over_link(LinkKind kind, int processor, double bytes, double seconds) const {
    return {sync_seconds() + seconds, {{{kind, processor, processor}, bytes, seconds}}};
  }
  StepCost over_links(ExchangeCost exchange) const {
    return {sync_seconds() + exchange.seconds, std::move(exchange.links)};
  }
  StepCost host(Direction direction, const Slot& slot) const {
    const int processor = buffer(slot).processor;
    const bool loads = direction == Direction::Load;
    const double seconds = host_seconds(device, direction, bytes(slot), sharers(processor));
    return over_link(loads ? LinkKind::FromHost : LinkKind::ToHost, processor, bytes(slot), seconds);
  }
  // How many processors of a machine share its gateway: the same processor of each replica on the machine
  // moves as much at the same time.
  int sharers(int processor) const {
    int count = 0;
    const int machine = processor / device.processors_per_host;
    for (int replica = 0; replica < program.replicas; ++replica) {
      if ((replica * program.processors + processor) / device.processors_per_host != machine) break;
      ++count;
    }
    return count;
  }
  StepCost remote(Direction direction, const Slot& here, const Slot& there) const {
    const int processor = buffer(here).processor;
    const bool loads = direction == Direction::Load;
    const bool is_sharded = buffer(there).shards > 1;
    const double seconds = remote_seconds(device, direction, bytes(here), is_sharded);
    return over_link(loads ? LinkKind::FromStreaming : LinkKind::ToStreaming, processor, bytes(here),
                     seconds);
  }

  StepCost operator()(const executor::LoadFromHost& step) const { return host(Direction::Load, step.to); }
  StepCost operator()(const executor::StoreToHost& step) const { return host(Direction::Store, step.from); }
  StepCost operator()(const executor::CopyBetweenProcessors& step) const {
    std::vector<ProcessorTransfer> transfers;
    transfers.reserve(step.transfers.size());
    for (const executor::Transfer& one : step.transfers) {
      transfers.push_back({buffer(one.from).processor, buffer(one.to).processor, bytes(one.from)});
    }
    return over_links(exchange_cost(device, transfers));
  }
  // The smaller set of tiles sets the pace.
  StepCost operator()(const executor::CopyBetweenTiles& step) const {
    const int inner_tiles = io_tiles == 0 ? device.tiles : std::min(io_tiles, device.tiles - io_tiles);
    const double cycles = bytes(step.transfer.from) / (inner_tiles * device.exchange_bytes_per_cycle);
    return {(cycles + device.phase_overhead_cycles) / device.clock_hertz};
  }
  StepCost operator()(const executor::LoadRemote& step) const {
    return remote(Direction::Load, step.transfer.to, step.transfer.from);
  }
  StepCost operator()(const executor::StoreRemote& step) const {
    return remote(Direction::Store, step.transfer.from, step.transfer.to);
  }
  // Long rings have many links, and a model of many layers many weights of one size: each kind is thought out
  // once.
  StepCost operator()(const executor::Collective& step) const {
    if (step.reduction == executor::CollectiveReduction::Local) return {};
    const Buffer& from = buffer(step.transfer.from);
    const double whole = std::max(bytes(step.transfer.from), bytes(step.transfer.to));
    const auto [entry, is_new] =
        collectives->try_emplace({step.kind, step.group.type, step.group.size, from.processor, whole});
    if (is_new) entry->second = collective(step, from.processor, whole);
    return entry->second;
  }
  StepCost collective(const executor::Collective& step, int processor, double whole) const {
    std::vector<int> members;
    const auto groups = executor::replica_groups(step.group, program.replicas);
    for (int replica : groups.front()) members.push_back(replica * program.processors + processor);
    if (members.size() == 1) return {};
    return over_links(collective_cost(device, step.kind, whole, members));
  }
  StepCost operator()(const executor::Compute& /*step*/) const {
    throw InternalError("a compute moves nothing");
  }
  StepCost operator()(const executor::Repeat& /*step*/) const {
    throw InternalError("a repeat moves nothing");
  }
};

// The peak rate at the element type, half or float, that has most of the bytes on the processors.
double peak_of(const Program& program, const device::Device& device) {
  std::int64_t half = 0;
  std::int64_t single = 0;
  for (const Buffer& buffer : program.buffers) {
    const ir::DataType element = buffer.type.element;
    if (element == ir::DataType::Float16 || element == ir::DataType::Bfloat16) half += slot_bytes(buffer);
    if (element == ir::DataType::Float) single += slot_bytes(buffer);
  }
  return peak_flop_per_second(device, half > single ? ir::DataType::Float16 : ir::DataType::Float);
}

}  // namespace

Costs costs_of(const Program& program, const device::Device& device, int io_tiles) {
  Costs costs;
  for (const executor::Block& block : program.blocks) {
    costs.blocks.push_back(block_cost(block, device, device.tiles - io_tiles));
  }
  costs.movement = [movement = Movement{program, device, io_tiles}](const executor::Step& step) {
    return std::visit(movement, step.action);
  };
  costs.synchronous = device.synchronous;
  costs.call_seconds = device.host_call_seconds;
  costs.peak_flop_per_second = peak_of(program, device);
  return costs;
}

}  // namespace podium::sim
