#include "executor/lower/draft/remote.h"
#include "ir/late_tensor.h"

#include <algorithm>
#include <set>

namespace podium::lower {

using executor::Buffer;
using executor::BufferId;
using executor::Memory;
using executor::Role;
using executor::Step;
using executor::Transfer;
using ir::TensorLocation;
using ir::ValueId;

namespace {

Memory load_memory(const TensorLocation& location) {
  return location.load_tiles == ir::TileSet::IO ? Memory::IO : Memory::Compute;
}

}  // namespace

Remote::Remote(Draft& draft)
    : draft_(draft), weights_(remote_weights(draft.graph, draft.placement, draft.strategy, draft.warnings)) {
  // What an optimizer computes with is a constant like any other.
  for (ir::OpId op : draft.graph.op_ids()) {
    if (!draft.placed.is_outer(op)) continue;
    for (ValueId id : inputs_of(draft.graph[op])) weights_[id].reset();
  }
}

ir::IdMap<ir::OpId, int> Remote::sections() const {
  struct Section {
    int number = 0;
    std::set<ValueId> read = {};
    std::int64_t bytes = 0;
  };
  const auto bytes = [&](ValueId id) { return ir::packed_bytes(draft_.graph[id].type); };
  const auto is_in_parts = [&](ValueId id) { return weight(id) && weight(id)->sharded; };
  std::int64_t most = 0;
  for (ValueId id : draft_.graph.value_ids()) {
    if (is_in_parts(id)) most = std::max(most, bytes(id));
  }
  std::map<int, Section> by_processor;
  ir::IdMap<ir::OpId, int> of_op;
  for (ir::OpId op : draft_.graph.op_ids()) {
    Section& section = by_processor[draft_.placed[op].processor];
    Section next{.number = section.number + 1};
    for (ValueId id : inputs_of(draft_.graph[op])) {
      if (!is_in_parts(id) || !next.read.insert(id).second) continue;
      next.bytes += bytes(id);
      if (section.read.insert(id).second) section.bytes += bytes(id);
    }
    const bool is_first = next.bytes > 0 && section.bytes == next.bytes;
    if (section.bytes > most && !is_first) section = std::move(next);
    of_op.push_back(section.number);
  }
  return of_op;
}

// The buffer a tensor lives in while no block reads it.
BufferId Remote::home(ValueId value, int processor, const TensorLocation& location) {
  const auto found = homes_.find({value, processor});
  if (found != homes_.end()) return found->second;
  const ir::Value& tensor = draft_.graph[value];
  Buffer buffer{.name = tensor.name, .type = tensor.type, .processor = processor};
  if (location.storage == ir::Storage::OffChip) buffer.memory = Memory::Streaming;
  if (waits_on_io_tiles(location)) buffer.memory = Memory::IO;
  if (location.sharded) {
    buffer.group = location.domain;
    buffer.shards = executor::replica_group_size(location.domain, draft_.strategy.replicas);
  }
  if (weight(value)) {
    buffer.role = Role::Weight;
    buffer.initial = {tensor.constant.value_or(ir::Tensor())};
    buffer.stored_share = ir::stored_share(buffer.initial[0]);
  }
  return homes_[{value, processor}] = draft_.another_buffer(value, std::move(buffer));
}

std::vector<Step> Remote::bring(ValueId value, int processor, const TensorLocation& location) {
  std::vector<Step> steps;
  BufferId holder = home(value, processor, location);
  const int count = times_brought_[value]++;
  const auto next = [&](std::string name, Memory memory, int shards) {
    Buffer buffer{
        .name = std::move(name), .type = draft_.graph[value].type, .processor = processor, .memory = memory};
    buffer.role = draft_.program[holder].role;
    buffer.stored_share = draft_.program[holder].stored_share;
    buffer.shards = shards;
    buffer.group = location.domain;
    const BufferId from = std::exchange(holder, draft_.another_buffer(value, std::move(buffer)));
    return Transfer{{from}, {holder}};
  };
  const std::string& name = draft_.graph[value].name;
  Memory memory = draft_.program[holder].memory == Memory::IO ? Memory::IO : Memory::Compute;
  if (location.storage == ir::Storage::OffChip) {
    memory = load_memory(location);
    const int shards = draft_.program[holder].shards;
    steps.push_back(
        {.action = executor::LoadRemote{{next(fmt::format("{}__l{}", name, count), memory, shards)}}});
  }
  if (location.sharded) {
    steps.push_back(
        {.action = executor::Collective{.kind = executor::CollectiveKind::AllGather,
                                        .group = location.domain,
                                        .transfer = next(fmt::format("{}__g{}", name, count), memory, 1)}});
  }
  if (memory == Memory::IO) {
    steps.push_back({.action = executor::CopyBetweenTiles{
                         next(location.storage == ir::Storage::OffChip || location.sharded
                                  ? draft_.program[holder].name
                                  : fmt::format("{}__l{}", name, count),
                              Memory::Compute, 1)}});
  }
  return steps;
}

void Remote::bring_weights(const Part& part, int offset, std::vector<TimedStep>& steps) {
  for (std::size_t i = 0; i < part.reads.size(); ++i) {
    const ValueId id = part.reads[i];
    if (!weight(id)) continue;
    for (Step& step : bring(id, reader_of(part, i), *weight(id))) steps.push_back({offset, std::move(step)});
  }
}

std::vector<Step> Remote::store(ValueId value, int processor, const TensorLocation& location) {
  std::vector<Step> steps;
  BufferId from = draft_.buffer(value, processor);
  if (load_memory(location) == Memory::IO) {
    const BufferId on_io_tiles = draft_.buffer(value, processor, Memory::IO);
    steps.push_back({.action = executor::CopyBetweenTiles{{{from}, {on_io_tiles}}}});
    from = on_io_tiles;
  }
  steps.push_back({.action = executor::StoreRemote{{{{from}, {home(value, processor, location)}}}}});
  return steps;
}

}  // namespace podium::lower
