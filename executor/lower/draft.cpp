#include "executor/lower/draft.h"

#include <algorithm>

namespace podium::lower {

using executor::BlockId;
using executor::BufferId;
using executor::Memory;
using executor::Role;
using executor::Step;
using ir::ValueId;

namespace {

executor::HostTensor host_output(const ir::Value& value, const Anchor& anchor, int batches) {
  executor::HostTensor output{.name = value.name, .type = value.type, .micro_batches = batches};
  switch (anchor.returns) {
    case AnchorReturn::All:
      output.leading = {batches, 1};
      break;
    case AnchorReturn::EveryN:
      output.every = anchor.every;
      output.leading = {batches / anchor.every, 1};
      break;
    case AnchorReturn::Final:
      output.every = batches;
      break;
    case AnchorReturn::Sum:
      output.micro_batches = 1;
      break;
  }
  return output;
}

}  // namespace

Draft::Draft(const ir::Graph& of, const ir::Placement& placed, const Options& asked)
    : graph(of),
      placement(placed),
      options(asked),
      cycles(asked.batches_per_step * std::max(1, asked.batch_serialization.factor)),
      input_index_(of.values.size(), -1),
      output_indices_(of.values.size()) {
  program.processors = placed.processors;
  program.replicas = asked.replicas;
  if (asked.synthetic_data != SyntheticData::Off) return;
  for (ValueId id : graph.inputs) {
    input_index_[static_cast<std::size_t>(id.index)] = static_cast<int>(program.inputs.size());
    executor::HostTensor input{
        .name = graph[id].name, .type = graph[id].type, .micro_batches = asked.batches_per_step};
    const auto found = placed.inputs.find(input.name);
    input.broadcast = found != placed.inputs.end() && found->second.broadcast;
    program.inputs.push_back(std::move(input));
  }
  for (ValueId id : graph.outputs) {
    output_indices_[static_cast<std::size_t>(id.index)].push_back(static_cast<int>(program.outputs.size()));
    program.outputs.push_back(host_output(graph[id], anchor(id), asked.batches_per_step));
  }
}

BufferId Draft::buffer(ValueId value, int processor, Memory memory, Role role) {
  const BufferId next{static_cast<std::int32_t>(program.buffers.size())};
  const auto [entry, is_new] = buffers_.try_emplace({value, processor, memory}, next);
  if (is_new) {
    add_buffer({.name = graph[value].name,
                .type = graph[value].type,
                .processor = processor,
                .memory = memory,
                .role = role});
  }
  return entry->second;
}

BufferId Draft::another_buffer(ValueId value, executor::Buffer properties) {
  const std::tuple key{value, properties.processor, properties.memory};
  return buffers_[key] = add_buffer(std::move(properties));
}

BufferId Draft::add_buffer(executor::Buffer buffer) {
  program.buffers.push_back(std::move(buffer));
  return {static_cast<std::int32_t>(program.buffers.size() - 1)};
}

BlockId Draft::add_block(executor::Block block) {
  program.blocks.push_back(std::move(block));
  return {static_cast<std::int32_t>(program.blocks.size() - 1)};
}

Anchor Draft::anchor(ValueId output) const {
  const auto found = options.anchors.find(graph[output].name);
  return found == options.anchors.end() ? Anchor{} : found->second;
}

BlockId Draft::add_block(Part& part, int processor, std::string name) {
  executor::Block block{.name = std::move(name), .processor = processor, .graph = std::move(part.graph)};
  for (ValueId weight : part.weights) {
    block.weights.push_back(buffer(weight, processor, Memory::Compute, Role::Weight));
    program[block.weights.back()].initial = {graph[weight].constant.value_or(ir::Tensor())};
  }
  return add_block(std::move(block));
}

Step Draft::compute(BlockId block, const Part& part) {
  const int processor = program[block].processor;
  executor::Compute compute{.block = block, .reads = {}, .writes = {}};
  for (ValueId id : part.reads) compute.reads.push_back({buffer(id, processor)});
  for (ValueId id : part.writes) compute.writes.push_back({buffer(id, processor)});
  return {.action = std::move(compute)};
}

}  // namespace podium::lower
