// Blocks cost what block_cost says; a movement costs a sync on a synchronous device and the time of its
// routes (routes.h). Replicas do the same at the same time: routes are those of replica 0, and the link to
// the host is shared by the replicas on one machine. Collectives of one kind, group and size cost the same
// and are thought out once. Matrix units keep the rate of the slowest processor that takes part, and in
// training what the limit of power leaves.
#include "executor/sim/costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numbers>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "executor/sim/moved_bytes.h"
#include "executor/sim/op_cost.h"
#include "executor/sim/products_beside.h"
#include "executor/sim/routes.h"
#include "executor/sim/run_ahead.h"
#include "executor/slots.h"

namespace podium::sim {
namespace {

using executor::Buffer;
using executor::Program;
using executor::Slot;

/// What each processor moves from and to the host for as many micro-batches as a stream's buffer holds: each
/// input and output once.
struct HostBytes {
  std::vector<double> loaded;
  std::vector<double> stored;
};

class HostBytesCounter {
 public:
  HostBytesCounter(const Program& program, const ir::IdMap<executor::BufferId, double>& slot_bytes,
                   const HostStreams& streams)
      : program_(program), slot_bytes_(slot_bytes), streams_(streams) {
    const std::size_t processors = program.processors;
    counted.loaded.resize(processors);
    counted.stored.resize(processors);
  }

  void walk(const std::vector<executor::Step>& steps) {
    for (const executor::Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) walk(repeat->body);
      if (const auto* load = std::get_if<executor::LoadFromHost>(&step.action))
        add(counted.loaded, loads_, {program_.inputs[load->input], load->part}, load->to);
      if (const auto* store = std::get_if<executor::StoreToHost>(&step.action))
        add(counted.stored, stores_, {program_.outputs[store->output], store->part}, store->from);
    }
  }

  HostBytes counted;

 private:
  struct Stream {
    const executor::HostTensor& tensor;
    int part;
  };
  using Streams = std::set<std::tuple<int, const executor::HostTensor*, int>>;  // of a processor, of a part

  void add(std::vector<double>& sums, Streams& streams, const Stream& stream, const Slot& slot) {
    const int processor = program_[slot.buffer].processor;
    if (streams.emplace(processor, &stream.tensor, stream.part).second)
      sums[processor] += streams_.depth_of(stream.tensor.name) * slot_bytes_[slot.buffer];
  }

  const Program& program_;
  const ir::IdMap<executor::BufferId, double>& slot_bytes_;
  const HostStreams& streams_;
  Streams loads_;
  Streams stores_;
};

std::shared_ptr<const HostBytes> host_bytes_of(const Program& program,
                                               const ir::IdMap<executor::BufferId, double>& slot_bytes,
                                               const HostStreams& streams) {
  HostBytesCounter counter(program, slot_bytes, streams);
  counter.walk(program.steps);
  return std::make_shared<const HostBytes>(std::move(counter.counted));
}

/// Of a collective, by its address, that is one with those before it: their bytes.
using MergedCollectives = std::unordered_map<const void*, double>;

std::vector<int> members_of(const Program& program, const executor::GroupCollective& step) {
  std::vector<int> members;
  for (const executor::Transfer& one : step.transfers) members.push_back(program[one.from.buffer].processor);
  return members;
}

/// Up to how many bytes collectives in a row are one: as the device does by itself, any number where the
/// options ask for it.
double most_merged(executor::CollectiveKind kind, int members, const device::Device& device,
                   const CollectiveMerging& merging) {
  const bool is_asked = (kind == executor::CollectiveKind::AllReduce && merging.all_reduces) ||
                        (kind == executor::CollectiveKind::ReduceScatter && merging.reduce_scatters) ||
                        (kind == executor::CollectiveKind::AllGather && merging.all_gathers);
  return is_asked ? std::numeric_limits<double>::infinity()
                  : static_cast<double>(std::max(device.collective_merge_bytes,
                                                 members * device.collective_merge_member_bytes));
}

/// When replicas meet: at a collective's place in the Program, or as soon as its operands are made.
enum class Meets : std::uint8_t { InOrder, Early };

// Collectives of one kind and group that follow each other on a processor, without any other step of this
// processor between them, are one up to the limit of their kind. Where replicas meet early those of each kind
// have a buffer of their own, whatever of the Program stands between them.
class CollectiveMerger {
 public:
  CollectiveMerger(const Program& program, const ir::IdMap<executor::BufferId, double>& slot_bytes,
                   std::function<double(executor::CollectiveKind, int)> most, Meets meets)
      : program_(program), slot_bytes_(slot_bytes), most_(std::move(most)), meets_(meets) {}

  void walk(const std::vector<executor::Step>& steps) {
    open_.clear();
    for (const executor::Step& step : steps) {
      if (const auto* repeat = std::get_if<executor::Repeat>(&step.action)) {
        walk(repeat->body);
        open_.clear();
      } else if (const auto* collective = std::get_if<executor::Collective>(&step.action)) {
        add(*collective);
      } else if (const auto* in_group = std::get_if<executor::GroupCollective>(&step.action)) {
        add(*in_group);
      } else {
        executor::for_each_slot(step, [&](const Slot& slot, bool) {
          open_.erase({program_[slot.buffer].processor, kInOrder});
        });
      }
    }
  }

  MergedCollectives merged;

 private:
  // Who meets in a collective, and how.
  struct Peers {
    executor::CollectiveKind kind = executor::CollectiveKind::AllReduce;
    ir::ReplicaGroup replicas = {};
    std::vector<int> processors = {};  ///< of a replica
    bool operator==(const Peers&) const = default;
  };
  struct Open {
    Peers peers;
    double bytes = 0;
  };
  // Those that come in order are in one, the others in one of their kind.
  using Queue = std::optional<executor::CollectiveKind>;
  static constexpr Queue kInOrder = std::nullopt;

  void add(const executor::Collective& step) {
    if (step.reduction == executor::CollectiveReduction::Local) return;
    add(&step, std::max(slot_bytes_[step.transfer.from.buffer], slot_bytes_[step.transfer.to.buffer]),
        {step.kind, step.group, {program_[step.transfer.from.buffer].processor}},
        executor::replica_group_size(step.group, program_.replicas),
        meets_ == Meets::Early ? Queue(step.kind) : kInOrder);
  }
  void add(const executor::GroupCollective& step) {
    const executor::Transfer& first = step.transfers.front();
    add(&step, std::max(slot_bytes_[first.from.buffer], slot_bytes_[first.to.buffer]),
        {step.kind, {}, members_of(program_, step)}, static_cast<int>(step.transfers.size()), kInOrder);
  }
  void add(const void* step, double bytes, const Peers& peers, int members, Queue queue) {
    double earlier = 0;
    bool is_like = true;
    for (int processor : peers.processors) {
      const auto open = open_.find({processor, queue});
      is_like = is_like && open != open_.end() && open->second.peers == peers;
      if (is_like) earlier = open->second.bytes;
    }
    if (is_like && earlier + bytes <= most_(peers.kind, members)) {
      merged.emplace(step, earlier);
      bytes += earlier;
    }
    for (int processor : peers.processors)
      open_.insert_or_assign(std::pair(processor, queue), Open{peers, bytes});
  }

  const Program& program_;
  const ir::IdMap<executor::BufferId, double>& slot_bytes_;
  std::function<double(executor::CollectiveKind, int)> most_;
  Meets meets_;
  std::map<std::pair<int, Queue>, Open> open_;  ///< by processor
};

MergedCollectives merged_collectives(const Program& program,
                                     const ir::IdMap<executor::BufferId, double>& slot_bytes,
                                     const device::Device& device, const CollectiveMerging& merging) {
  const bool is_asked = merging.all_reduces || merging.reduce_scatters || merging.all_gathers;
  if (device.collective_merge_bytes == 0 && !is_asked) return {};
  CollectiveMerger merger(
      program, slot_bytes,
      [&](executor::CollectiveKind kind, int members) { return most_merged(kind, members, device, merging); },
      device.early_collectives && !device.synchronous ? Meets::Early : Meets::InOrder);
  merger.walk(program.steps);
  return std::move(merger.merged);
}

// The device as devices of a cut find it that meet: where exchanges stop computes their program is one, and
// has the transfers of the exchange without a collective's own overhead.
device::Device inside_a_replica(device::Device device) {
  if (device.synchronous) device.collective_overhead_seconds = 0;
  return device;
}

// The cost of a step that moves data, from the routes of replica 0: the other replicas do the same beside it.
struct Movement {
  const Program& program;
  const device::Device& device;
  int io_tiles = 0;
  CostOptions options = {};
  std::shared_ptr<const ProductsBeside> beside = {};
  using CollectiveKey = std::tuple<executor::CollectiveKind, ir::ReplicaGroup, int, double>;
  std::shared_ptr<std::map<CollectiveKey, StepCost>> collectives =
      std::make_shared<std::map<CollectiveKey, StepCost>>();
  using GroupKey = std::tuple<executor::CollectiveKind, std::vector<int>, double>;
  std::shared_ptr<std::map<GroupKey, StepCost>> in_groups = std::make_shared<std::map<GroupKey, StepCost>>();
  using ExchangesInParts = std::unordered_map<const executor::Step*, ManyTransfers>;
  std::shared_ptr<ExchangesInParts> in_parts = std::make_shared<ExchangesInParts>();

  ir::IdMap<executor::BufferId, double> slot_bytes = moved_bytes(program, device);
  std::shared_ptr<const HostBytes> host_bytes = host_bytes_of(program, slot_bytes, options.host_streams);
  MergedCollectives merged = merged_collectives(program, slot_bytes, device, options.merging);
  device::Device in_program = inside_a_replica(device);

  const Buffer& buffer(const Slot& slot) const { return program[slot.buffer]; }
  double bytes(const Slot& slot) const { return slot_bytes[slot.buffer]; }
  double sync_seconds() const {
    if (!device.synchronous) return 0;
    const bool is_alone = program.processors * program.replicas == 1;
    return is_alone ? device.sync_cycles / device.clock_hertz : device.global_sync_seconds;
  }

  // To or from a processor.
  StepCost over_link(LinkKind kind, int processor, double bytes, double seconds, double link_seconds) const {
    return {sync_seconds() + seconds, {{{kind, processor, processor}, bytes, link_seconds}}};
  }
  StepCost over_links(ExchangeCost exchange) const {
    return {sync_seconds() + exchange.seconds, std::move(exchange.links)};
  }
  StepCost host(Direction direction, const Slot& slot) const {
    const int processor = buffer(slot).processor;
    const bool loads = direction == Direction::Load;
    const HostTransfer transfer = host_transfer(device, direction, bytes(slot), sharers(processor));
    StepCost cost = over_link(loads ? LinkKind::FromHost : LinkKind::ToHost, processor, bytes(slot),
                              transfer.seconds, transfer.link_seconds);
    if (loads && options.host_streams.prefetch == Prefetch::Off) {
      cost.seconds += transfer.link_seconds;  // the host begins now
      return cost;
    }
    // Of each stream as many micro-batches as its buffer holds are under way while this one is used.
    const double of_all = (loads ? host_bytes->loaded : host_bytes->stored)[processor];
    if (bytes(slot) > 0) cost.links[0].backlog_seconds = transfer.link_seconds * (of_all / bytes(slot) - 1);
    return cost;
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
  // Processors move their data side by side, each of them one transfer after the other.
  StepCost remote(Direction direction, const std::vector<executor::Transfer>& transfers) const {
    const bool loads = direction == Direction::Load;
    std::map<int, LinkLoad> by_processor;
    for (const executor::Transfer& one : transfers) {
      const Slot& here = loads ? one.to : one.from;
      const Slot& there = loads ? one.from : one.to;
      const int processor = buffer(here).processor;
      LinkLoad& load = by_processor[processor];
      load.link = {loads ? LinkKind::FromStreaming : LinkKind::ToStreaming, processor, processor};
      load.bytes += bytes(here);
      load.seconds += remote_seconds(device, direction, bytes(here), buffer(there).shards > 1);
    }
    ExchangeCost exchange;
    for (const auto& [processor, load] : by_processor) {
      exchange.seconds = std::max(exchange.seconds, load.seconds);
      exchange.links.push_back(load);
    }
    return over_links(std::move(exchange));
  }

  StepCost operator()(const executor::LoadFromHost& step) const { return host(Direction::Load, step.to); }
  StepCost operator()(const executor::StoreToHost& step) const { return host(Direction::Store, step.from); }
  StepCost operator()(const executor::CopyBetweenProcessors& step) const {
    return over_links(exchange_cost(device, transfers_of(step)));
  }
  std::vector<ProcessorTransfer> transfers_of(const executor::CopyBetweenProcessors& step) const {
    std::vector<ProcessorTransfer> transfers;
    transfers.reserve(step.transfers.size());
    for (const executor::Transfer& one : step.transfers) {
      transfers.push_back({buffer(one.from).processor, buffer(one.to).processor, bytes(one.from)});
    }
    return transfers;
  }
  // Which transfers act changes from iteration to iteration of a pipeline's fill.
  StepCost part(const executor::Step& step, std::span<const int> places) const {
    auto found = in_parts->find(&step);
    if (found == in_parts->end()) {
      const auto& whole = std::get<executor::CopyBetweenProcessors>(step.action);
      found = in_parts->try_emplace(&step, device, transfers_of(whole)).first;
    }
    return over_links(found->second.cost(places));
  }
  // The smaller set of tiles sets the pace.
  StepCost operator()(const executor::CopyBetweenTiles& step) const {
    const int inner_tiles = io_tiles == 0 ? device.tiles : std::min(io_tiles, device.tiles - io_tiles);
    const double cycles = bytes(step.transfer.from) / (inner_tiles * device.exchange_bytes_per_cycle);
    return {(cycles + device.phase_overhead_cycles) / device.clock_hertz};
  }
  StepCost operator()(const executor::LoadRemote& step) const {
    return remote(Direction::Load, step.transfers);
  }
  StepCost operator()(const executor::StoreRemote& step) const {
    return remote(Direction::Store, step.transfers);
  }
  // Long rings have many links, and a model of many layers many weights of one size: each kind is thought out
  // once.
  StepCost operator()(const executor::Collective& step) const {
    if (step.reduction == executor::CollectiveReduction::Local) return {};
    const Buffer& from = buffer(step.transfer.from);
    const double whole = std::max(bytes(step.transfer.from), bytes(step.transfer.to));
    const auto of_size = [&](double size) -> const StepCost& {
      return remembered(step, from.processor, size);
    };
    const auto earlier = merged.find(&step);
    return earlier == merged.end() ? of_size(whole) : added(of_size, earlier->second, whole);
  }
  // What it adds to the collective that those before it and it are together.
  template <class OfSize>
  static StepCost added(const OfSize& of_size, double earlier, double whole) {
    StepCost cost = of_size(earlier + whole);
    cost.seconds -= of_size(earlier).seconds;
    cost.links = of_size(whole).links;
    for (LinkLoad& load : cost.links) load.seconds = std::min(load.seconds, cost.seconds);
    return cost;
  }
  const StepCost& remembered(const executor::Collective& step, int processor, double whole) const {
    const auto [entry, is_new] = collectives->try_emplace({step.kind, step.group, processor, whole});
    if (is_new) entry->second = collective(step, processor, whole);
    return entry->second;
  }
  StepCost collective(const executor::Collective& step, int processor, double whole) const {
    std::vector<int> members;
    const auto groups = executor::replica_groups(step.group, program.replicas);
    for (int replica : groups.front()) members.push_back(replica * program.processors + processor);
    if (members.size() == 1) return {};
    return over_links(collective_cost(device, step.kind, whole, members));
  }
  StepCost operator()(const executor::GroupCollective& step) const {
    StepCost cost = alone(step);
    const auto products = beside->find(&step);
    if (products == beside->end()) return cost;
    cost.seconds = held_up_seconds(cost.seconds, products->second, static_cast<int>(step.transfers.size()));
    return cost;
  }
  StepCost alone(const executor::GroupCollective& step) const {
    const executor::Transfer& first = step.transfers.front();
    const double whole = std::max(bytes(first.from), bytes(first.to));
    const std::vector<int> members = members_of(program, step);
    const auto of_group = [&](double size) -> const StepCost& {
      const auto [entry, is_new] = in_groups->try_emplace({step.kind, members, size});
      if (is_new) entry->second = over_links(collective_cost(in_program, step.kind, size, members));
      return entry->second;
    };
    const auto earlier = merged.find(&step);
    return earlier == merged.end() ? of_group(whole) : added(of_group, earlier->second, whole);
  }
  StepCost operator()(const executor::Compute& /*step*/) const {
    throw InternalError("a compute moves nothing");
  }
  StepCost operator()(const executor::Repeat& /*step*/) const {
    throw InternalError("a repeat moves nothing");
  }
};

// How many standard deviations the largest of so many normal numbers is above their mean, expected: the
// limit of Gumbel for many, 0.2 too much for two.
double expected_largest(int count) {
  if (count < 2) return 0;
  const double peak = std::sqrt(2 * std::log(count));
  const double shift = std::log(std::log(count)) + std::log(4 * std::numbers::pi);
  return peak - shift / (2 * peak) + std::numbers::egamma / peak;
}

// Whether a block writes weights, or what these are updated with.
bool trains(const Program& program, const std::vector<executor::Step>& steps) {
  const auto is_updated = [&](const Slot& slot) {
    const executor::Role role = program[slot.buffer].role;
    return role == executor::Role::Weight || role == executor::Role::OptimizerState ||
           role == executor::Role::Accumulator;
  };
  return std::any_of(steps.begin(), steps.end(), [&](const executor::Step& step) {
    if (const auto* repeat = std::get_if<executor::Repeat>(&step.action))
      return trains(program, repeat->body);
    const auto* compute = std::get_if<executor::Compute>(&step.action);
    return compute != nullptr && std::ranges::any_of(compute->writes, is_updated);
  });
}

// The device as the Program's blocks find it.
device::Device under_load(device::Device device, const Program& program) {
  double share = 1 / (1 + device.rate_spread * expected_largest(program.processors * program.replicas));
  if (trains(program, program.steps)) share *= device.sustained_share;
  device.matrix_share *= share;
  device.attention_share *= share;
  return device;
}

}  // namespace

Costs costs_of(const Program& program, const device::Device& device, int io_tiles,
               const CostOptions& options) {
  Costs costs;
  const device::Device loaded = under_load(device, program);
  BlockCosts of_blocks(loaded, options.outlining);
  for (const executor::Block& block : program.blocks) {
    const int tiles = block.memory == executor::Memory::IO ? io_tiles : device.tiles - io_tiles;
    costs.blocks.push_back(of_blocks.of(block.graph, tiles));
  }
  const bool go_beside = device.exchanges_beside_products && !device.synchronous;
  const auto beside = std::make_shared<const ProductsBeside>(
      go_beside ? products_beside(program, costs.blocks) : ProductsBeside());
  const auto movement =
      std::make_shared<const Movement>(Movement{program, device, io_tiles, options, beside});
  costs.movement = [movement](const executor::Step& step) { return std::visit(*movement, step.action); };
  costs.part_of_exchange = [movement](const executor::Step& step, std::span<const int> places) {
    return movement->part(step, places);
  };
  if (device.dispatch_seconds > 0) let_host_run_ahead(program, costs);
  costs.synchronous = device.synchronous;
  costs.early_collectives = device.early_collectives;
  costs.call_seconds = device.host_call_seconds;
  return costs;
}

}  // namespace podium::sim
