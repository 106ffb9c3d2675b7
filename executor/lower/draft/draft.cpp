// A buffer is made when a step first asks for a value on a processor and in a memory. What becomes a variable
// is in the variable's buffer, so that an update writes over what it reads. A variable has a buffer on each
// processor that has it: those of the copies get what the owner's update has written.
#include "executor/lower/draft/draft.h"

#include <algorithm>

#include "executor/lower/draft/early_outputs.h"
#include "executor/lower/program/append.h"
#include "ir/late_tensor.h"
#include "ir/ops/group_exchange.h"

namespace podium::lower {

using executor::BlockId;
using executor::BufferId;
using executor::Memory;
using executor::Role;
using executor::Step;
using ir::ValueId;

namespace {

// Without its transfers.
executor::GroupCollective group_collective(const ir::Op& op) {
  using executor::CollectiveKind;
  executor::GroupCollective collective;
  if (op.spec->name == ir::kGroupAllGather) collective.kind = CollectiveKind::AllGather;
  if (op.spec->name == ir::kGroupReduceScatter) collective.kind = CollectiveKind::ReduceScatter;
  if (op.spec->name == ir::kGroupAllToAll) {
    collective.kind = CollectiveKind::AllToAll;
    collective.scatter_axis = static_cast<int>(ir::attribute<std::int64_t>(op, ir::kGroupScatterAxis));
  }
  if (ir::reduces_to_largest(op)) collective.reduction = executor::CollectiveReduction::Max;
  if (const auto* axis = ir::attribute_if<std::int64_t>(op, "axis"))
    collective.axis = static_cast<int>(*axis);
  return collective;
}

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

Draft::Draft(const Lowering& lowering)
    : placed(lowering.placed),
      graph(placed.graph()),
      placement(placed.placement),
      strategy(lowering.strategy),
      facts(lowering.facts),
      variables(lowering.variables),
      warnings(lowering.warnings),
      input_index_(std::ssize(graph.values), -1),
      output_indices_(std::ssize(graph.values)),
      host_part_(std::ssize(graph.values), 0) {
  program.processors = placement.processors;
  program.replicas = strategy.replicas;
  make_variables();
  if (strategy.synthetic_data == SyntheticData::Off) make_host_tensors();
}

void Draft::make_host_tensors() {
  for (ValueId id : graph.inputs) {
    if (variables.is_variable(id) || placed.in_first_copy.contains(id)) continue;
    if (placed.host_parts.contains(id)) continue;
    input_index_[id] = program.inputs.size();
    program.inputs.push_back(host_input(id));
  }
  const auto makers = producers(graph);
  for (int i = 0; i < std::ssize(graph.outputs); ++i) {
    if (variables.is_update(i)) continue;
    const ValueId id = graph.outputs[i];
    if (placed.in_first_copy.contains(id)) continue;
    // What an update computes comes once a batch.
    const bool is_of_update = makers[id].valid() && placed.is_outer(makers[id]);
    add_output(id, strategy.batches_per_step, is_of_update ? 1 : strategy.accumulation_factor);
  }
  add_parts_of_inputs();
  for (const auto& [second, first] : placed.in_first_copy) {
    input_index_[second] = input_index_[first];
    output_indices_[second] = output_indices_[first];
    host_part_[second] = host_part_[first];
  }
}

// Where some op reads all of an input, that is a part as well, the first one.
void Draft::add_parts_of_inputs() {
  if (placed.host_parts.empty()) return;
  const ir::Consumers readers(graph);
  for (const auto& [id, part] : placed.host_parts) {
    const int input = input_index_[part.whole];
    if (input < 0) continue;
    executor::HostTensor& tensor = program.inputs[input];
    if (tensor.parts.empty() && !readers[part.whole].empty())
      add_part(tensor, part.whole, ir::whole_box(tensor.type.dims));
    input_index_[id] = input;
    add_part(tensor, id, part.box);
  }
}

// The first part of an output stands where all of it stood.
void Draft::add_output(ValueId id, int batches, int accumulation) {
  const ValueId whole = placed.known_to_host_as(id);
  const bool is_part = whole != id;
  std::vector<int>& indices = output_indices_[whole];
  if (!is_part || indices.empty()) {
    indices.push_back(static_cast<int>(program.outputs.size()));
    program.outputs.push_back(host_output(graph[whole], anchor(whole), batches, accumulation));
  }
  if (!is_part) return;
  output_indices_[id] = indices;
  add_part(program.outputs[indices.front()], id, placed.host_parts.at(id).box);
}

void Draft::add_part(executor::HostTensor& tensor, ValueId id, const ir::Box& box) {
  host_part_[id] = static_cast<int>(tensor.parts.size());
  tensor.parts.push_back(box);
}

executor::HostTensor Draft::host_input(ValueId id) const {
  executor::HostTensor input{.name = graph[id].name, .type = graph[id].type};
  if (variables.is_hyper_parameter(id)) {
    input.broadcast = true;
    return input;
  }
  input.micro_batches = strategy.batches_per_step * strategy.accumulation_factor;
  const auto found = placement.inputs.find(input.name);
  input.broadcast = found != placement.inputs.end() && found->second.broadcast;
  return input;
}

void Draft::make_variables() {
  for (const PlacedVariable& variable : variables.all()) {
    for (int processor : variables.processors(variable.value)) {
      executor::Buffer& home = program[buffer(variable.value, processor, Memory::Compute, variable.role)];
      home.initial = {variable.initial};
      home.persistent = true;
    }
  }
}

BufferId Draft::buffer(ValueId value, int processor, Memory memory, Role role) {
  const std::optional<ValueId> variable = variables.updated(value);
  if (variable && memory == Memory::Compute) return buffer(*variable, processor);
  const auto [entry, is_new] = buffers_.try_emplace({value, processor, memory});
  if (is_new) {
    entry->second = add_buffer({.name = std::string(ir::name_of_whole(graph[value].name)),
                                .type = graph[value].type,
                                .processor = processor,
                                .memory = memory,
                                .role = role});
    if (const WholeTensor* whole = variables.whole(value)) make_sharded(program[entry->second], *whole);
  }
  return entry->second;
}

void Draft::make_sharded(executor::Buffer& buffer, const WholeTensor& whole) const {
  buffer.type = whole.type;
  buffer.group = whole.group;
  buffer.shards = executor::replica_group_size(whole.group, strategy.replicas);
}

BufferId Draft::another_buffer(ValueId value, executor::Buffer properties) {
  const std::tuple key{value, properties.processor, properties.memory};
  return buffers_[key] = add_buffer(std::move(properties));
}

BufferId Draft::add_buffer(executor::Buffer buffer) { return append(program, std::move(buffer)); }

BlockId Draft::add_block(executor::Block block) { return append(program, std::move(block)); }

Anchor Draft::anchor(ValueId output) const {
  const auto found = strategy.anchors.find(graph[placed.known_to_host_as(output)].name);
  return found == strategy.anchors.end() ? Anchor{} : found->second;
}

BlockId Draft::add_block(Part& part, std::string name) {
  const int processor = part.turn.processor;
  make_outputs_early(part.graph);
  executor::Block block{.name = std::move(name), .processor = processor, .graph = std::move(part.graph)};
  if (part.turn.work == Work::Update) {
    for (ir::Op& op : block.graph.ops) set_attribute(op, ir::kContextAttribute, ir::kOuterContext);
  }
  for (const PartWeight& weight : part.weights) block.weights.push_back(constant(weight.whole, processor));
  return add_block(std::move(block));
}

BufferId Draft::constant(ValueId weight, int processor) {
  const BufferId held = buffer(weight, processor, Memory::Compute, Role::Weight);
  program[held].initial = {graph[weight].constant.value_or(ir::Tensor())};
  program[held].stored_share = ir::stored_share(program[held].initial[0]);
  return held;
}

std::vector<executor::Transfer> Draft::transfers_to_copies(ValueId value) {
  std::vector<executor::Transfer> transfers;
  const auto variable = variables.updated(value);
  if (!variable) return transfers;
  const PlacedVariable& one = variables.variable(*variable);
  for (int copy : one.copies) {
    transfers.push_back({{buffer(*variable, one.processor)}, {buffer(*variable, copy)}});
  }
  return transfers;
}

std::vector<Step> Draft::run(Part& part, std::string name) {
  if (part.turn.meeting == Meeting::None) {
    const BlockId block = add_block(part, std::move(name));
    return {compute(block, part)};
  }
  const auto outer = [](const std::vector<ValueId>& locals, const std::vector<ValueId>& outers) {
    std::map<ValueId, ValueId> outer_of;
    for (std::size_t i = 0; i < locals.size(); ++i) outer_of.emplace(locals[i], outers[i]);
    return outer_of;
  };
  const std::map<ValueId, ValueId> read = outer(part.graph.inputs, part.reads);
  const std::map<ValueId, ValueId> written = outer(part.graph.outputs, part.writes);
  std::map<ValueId, ValueId> constants;
  for (const PartWeight& weight : part.weights) constants.emplace(weight.local, weight.whole);
  std::vector<Step> steps;
  for (const ir::Op& op : part.graph.ops) {
    executor::GroupCollective collective = group_collective(op);
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const int processor = ir::group_processor(op, i);
      const auto given = read.find(op.inputs[i]);
      const BufferId from = given != read.end() ? buffer(given->second, processor)
                                                : constant(constants.at(op.inputs[i]), processor);
      collective.transfers.push_back({{from}, {buffer(written.at(op.outputs[i]), processor)}});
    }
    steps.push_back({.action = std::move(collective)});
  }
  return steps;
}

Step Draft::compute(BlockId block, const Part& part) {
  const int processor = program[block].processor;
  executor::Compute compute{.block = block, .reads = {}, .writes = {}};
  for (ValueId id : part.reads) compute.reads.push_back({buffer(id, processor)});
  for (ValueId id : part.writes) compute.writes.push_back({buffer(id, processor)});
  return {.action = std::move(compute)};
}

}  // namespace podium::lower
