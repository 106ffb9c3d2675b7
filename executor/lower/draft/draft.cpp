#include "executor/lower/draft/draft.h"

#include <algorithm>

#include "executor/lower/draft/early_outputs.h"

namespace podium::lower {

using executor::BlockId;
using executor::BufferId;
using executor::Memory;
using executor::Role;
using executor::Step;
using ir::ValueId;

namespace {

executor::HostTensor host_output(const ir::Value& value, const Anchor& anchor, int batches,
                                 int accumulation) {
  executor::HostTensor output{
      .name = value.name, .type = value.type, .micro_batches = batches * accumulation};
  switch (anchor.returns) {
    case AnchorReturn::All:
      output.leading = {batches, accumulation};
      break;
    case AnchorReturn::EveryN:
      output.every = anchor.every;
      output.group = accumulation;
      output.leading = {batches / anchor.every, accumulation};
      break;
    case AnchorReturn::Final:
      output.every = batches * accumulation;
      break;
    case AnchorReturn::Sum:
      output.micro_batches = 1;
      break;
  }
  return output;
}

}  // namespace

Draft::Draft(const ir::Graph& of, const ir::Placement& placed, const Options& asked, const Variables& trained)
    : graph(of),
      placement(placed),
      options(asked),
      variables(trained),
      cycles(asked.batches_per_step * std::max(1, asked.batch_serialization.factor)),
      input_index_(of.values.size(), -1),
      output_indices_(of.values.size()) {
  program.processors = placed.processors;
  program.replicas = asked.replicas;
  if (!variables.none()) count_updates();
  make_variables();
  if (asked.synthetic_data != SyntheticData::Off) return;
  for (ValueId id : graph.inputs) {
    if (variables.is_variable(id)) continue;
    input_index_[id.index] = static_cast<int>(program.inputs.size());
    program.inputs.push_back(host_input(id));
  }
  const auto makers = producers(graph);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (variables.is_update(i)) continue;
    const ValueId id = graph.outputs[i];
    const ir::OpId maker = makers[id.index];
    // What an update computes comes once a batch.
    const bool is_of_update = maker.valid() && variables.is_outer(static_cast<std::size_t>(maker.index));
    output_indices_[id.index].push_back(static_cast<int>(program.outputs.size()));
    program.outputs.push_back(host_output(graph[id], anchor(id), asked.batches_per_step,
                                          is_of_update ? 1 : asked.accumulation_factor));
  }
}

executor::HostTensor Draft::host_input(ValueId id) const {
  executor::HostTensor input{.name = graph[id].name, .type = graph[id].type};
  if (variables.is_hyper_parameter(id)) {
    input.broadcast = true;
    return input;
  }
  input.micro_batches = options.batches_per_step * options.accumulation_factor;
  const auto found = placement.inputs.find(input.name);
  input.broadcast = found != placement.inputs.end() && found->second.broadcast;
  return input;
}

// Without accumulation a pipeline updates inside its cycles.
void Draft::count_updates() {
  if (options.pipelining && options.accumulation_factor == 1) return;
  cycles = cycles / options.batches_per_step * options.accumulation_factor;
  batches = options.batches_per_step;
}

void Draft::make_variables() {
  for (const PlacedVariable& variable : variables.all()) {
    program[buffer(variable.value, variable.processor, Memory::Compute, variable.role)].initial = {
        variable.initial};
    program.buffers.back().persistent = true;
  }
}

BufferId Draft::buffer(ValueId value, int processor, Memory memory, Role role) {
  const std::optional<ValueId> variable = variables.updated(value);
  if (variable && memory == Memory::Compute) return buffer(*variable, processor);
  const BufferId next{static_cast<std::int32_t>(program.buffers.size())};
  const auto [entry, is_new] = buffers_.try_emplace({value, processor, memory}, next);
  if (is_new) {
    add_buffer({.name = graph[value].name,
                .type = graph[value].type,
                .processor = processor,
                .memory = memory,
                .role = role});
    if (const WholeTensor* whole = variables.whole(value)) make_sharded(program.buffers.back(), *whole);
  }
  return entry->second;
}

void Draft::make_sharded(executor::Buffer& buffer, const WholeTensor& whole) const {
  buffer.type = whole.type;
  buffer.group = whole.group;
  buffer.shards = static_cast<int>(executor::replica_groups(whole.group, options.replicas).front().size());
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
  make_outputs_early(part.graph);
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
