#include "executor/lower/lower.h"

#include <algorithm>
#include <map>
#include <set>

#include "executor/lower/graph/delay_updates.h"
#include "executor/lower/graph/recompute.h"
#include "executor/lower/graph/reductions.h"
#include "executor/lower/graph/shard_variables.h"
#include "executor/lower/graph/stash_weights.h"
#include "executor/lower/graph/zeros.h"
#include "executor/lower/program/plan_memory.h"
#include "executor/lower/program/share.h"
#include "executor/lower/program/split_collectives.h"
#include "executor/lower/program/stream_variables.h"
#include "executor/lower/strategies/batch_serialise.h"
#include "executor/lower/strategies/strategies.h"
#include "ir/at.h"
#include "ir/nearest.h"

namespace podium::lower {
namespace {

// An output that is an input or a constant gets an op that makes it, beside the first op that reads it, else
// beside the first of all: a place that is in use.
void give_outputs_an_op(ir::Graph& graph, ir::Placement& placement) {
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  for (ir::ValueId& output : graph.outputs) {
    if (producer[output.index].valid()) continue;
    const ir::Value source = graph[output];
    const ir::ValueId copy = graph.add_value(source.name, source.type);
    graph.ops.push_back(
        {.spec = ir::find_op("", "Identity"), .name = source.name, .inputs = {output}, .outputs = {copy}});
    const std::vector<ir::OpId>& beside = readers[output.index];
    const std::size_t first = beside.empty() ? 0 : static_cast<std::size_t>(beside.front().index);
    const ir::OpPlacement place = placement.ops.empty() ? ir::OpPlacement{} : placement.ops[first];
    placement.ops.push_back(place);
    output = copy;
  }
}

// A variable that becomes a constant, as an accumulator becomes zero, does so beside the first op that reads
// the variable, once per update.
void give_updates_an_op(ir::Training& training, ir::Placement& placement) {
  ir::Graph& graph = training.graph;
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  for (const ir::Update& update : training.updates) {
    ir::ValueId& output = graph.outputs[update.output];
    if (producer[output.index].valid()) continue;
    const std::vector<ir::OpId>& beside = readers[update.variable];
    IR_CHECK(!beside.empty(), "variable {} is updated and never read", graph[update.variable].name);
    const ir::ValueId copy = graph.add_value(graph.fresh_name(graph[output].name), graph[output].type);
    graph.ops.push_back({.spec = ir::find_op("", "Identity"), .inputs = {output}, .outputs = {copy}});
    ir::set_attribute(graph.ops.back(), ir::kContextAttribute, ir::kOuterContext);
    placement.ops.push_back(placement.ops[beside.front().index]);
    output = copy;
  }
}

// What other ops read, as those that count micro-batches do, becomes the variable by an op of its own, which
// can wait until all of them have read the variable (see Variables::is_late).
void give_counts_an_op(ir::Training& training, ir::Placement& placement) {
  ir::Graph& graph = training.graph;
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  for (const ir::Update& update : training.updates) {
    ir::ValueId& output = graph.outputs[update.output];
    if (update.outer || readers[at(output)].empty() || !producer[at(output)].valid()) continue;
    const ir::Value value = graph[output];
    const ir::ValueId copy = graph.add_value(graph.fresh_name(value.name), value.type);
    graph.ops.push_back({.spec = ir::find_op("", "Identity"), .inputs = {output}, .outputs = {copy}});
    const ir::OpPlacement place = placement.ops[at(producer[at(output)])];
    placement.ops.push_back(place);
    output = copy;
  }
}

// The output that is what a variable has become by the end of a micro-batch; nullptr while it stays what it
// is.
const ir::Update* last_update(const ir::Training& training, ir::ValueId variable, bool accumulates) {
  const ir::Update* last = nullptr;
  for (const ir::Update& update : training.updates) {
    if (update.variable != variable || (update.outer && accumulates)) continue;
    if (last == nullptr || update.outer) last = &update;
  }
  return last;
}

// A variable comes back as it is when the whole of a micro-batch has run (semantics, section 6.2), its update
// included where every micro-batch has one.
void give_variables_their_updates(ir::Training& training, ir::Placement& placement, bool accumulates) {
  ir::Graph& graph = training.graph;
  std::set<std::size_t> is_update;
  for (const ir::Update& update : training.updates) is_update.insert(update.output);
  std::set<ir::ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  const auto producer = producers(graph);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const ir::ValueId output = graph.outputs[i];
    if (is_update.contains(i) || !inputs.contains(output)) continue;
    const ir::Update* update = last_update(training, output, accumulates);
    if (update == nullptr) continue;
    const ir::ValueId becomes = graph.outputs[update->output];
    const ir::Value variable = graph[output];
    const ir::ValueId copy = graph.add_value(variable.name, variable.type);
    graph.ops.push_back({.spec = ir::find_op("", "Identity"), .inputs = {becomes}, .outputs = {copy}});
    if (update->outer) ir::set_attribute(graph.ops.back(), ir::kContextAttribute, ir::kOuterContext);
    const ir::OpPlacement place = placement.ops[at(producer[at(becomes)])];
    placement.ops.push_back(place);
    graph.outputs[i] = copy;
  }
}

bool runs_in_phases(const ir::Placement& placement, const Options& options) {
  return options.virtual_graph_mode == VirtualGraphMode::ExecutionPhases && placement.phases > 1;
}

// The strategies.
executor::Program build(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                        Warnings& warnings, const Variables& variables = {}) {
  const auto& strategy = runs_in_phases(placement, options) ? phased
                         : options.pipelining               ? pipelined
                                                            : sharded;
  return strategy(graph, placement, options, warnings, variables);
}

}  // namespace

void add_anchors(ir::Graph& graph, const Options& options) {
  if (options.anchors.empty()) return;
  std::map<std::string_view, ir::ValueId> by_name;
  const auto note = [&](ir::ValueId id) { by_name.emplace(graph[id].name, id); };
  for (ir::ValueId id : graph.outputs) note(id);
  for (ir::ValueId id : graph.inputs) note(id);
  for (const ir::Op& op : graph.ops) {
    for (const std::vector<ir::ValueId>* ids : {&op.inputs, &op.outputs}) {
      std::for_each(ids->begin(), ids->end(), [&](ir::ValueId id) {
        if (id.valid()) note(id);
      });
    }
  }
  std::set<ir::ValueId> outputs(graph.outputs.begin(), graph.outputs.end());
  for (const auto& [name, anchor] : options.anchors) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      std::vector<std::string_view> names;
      for (const auto& [known, id] : by_name) names.push_back(known);
      throw Error("anchor '{}': the model has no tensor of this name, the nearest is '{}'", name,
                  ir::nearest(name, names));
    }
    if (outputs.insert(found->second).second) graph.outputs.push_back(found->second);
  }
}

executor::Program lower(ir::Graph graph, const ir::Placement& given, const Options& options,
                        Warnings* warnings) {
  ir::Placement placement = given;
  add_anchors(graph, options);
  give_outputs_an_op(graph, placement);
  Warnings unheard;
  Warnings& heard = warnings == nullptr ? unheard : *warnings;
  executor::Program program;
  if (is_serialised(options)) {
    const Serialised slice = serialise_batch(graph, placement, options);
    program = build(slice.graph, slice.placement, slice.options, heard);
    slice_host_tensors(program, slice);
  } else {
    program = build(graph, placement, options, heard);
  }
  share_blocks(program);
  share_remote_buffers(program);
  plan_memory(program);
  verify(program);
  return program;
}

executor::Program lower(ir::Training training, const ir::Placement& given, const Options& asked,
                        Warnings* warnings) {
  ir::Placement placement = given;
  Options options = asked;
  move_as_asked(training.graph, placement, options);
  for (const ir::OpPlacement& op : placement.ops) placement.phases = std::max(placement.phases, op.phase + 1);
  give_updates_an_op(training, placement);
  give_counts_an_op(training, placement);
  give_variables_their_updates(training, placement, options.accumulation_factor > 1);
  give_outputs_an_op(training.graph, placement);
  recompute(training, placement, options);
  if (options.weight_stashing) stash_weights(training, placement);
  if (runs_in_phases(placement, options)) delay_updates(training, placement);
  Warnings unheard;
  Warnings& heard = warnings == nullptr ? unheard : *warnings;
  const auto locations = variable_locations(training, placement, options, heard);
  Parts parts = shard_variables(training, placement, locations, options.replicas);
  fill_with_zeros(training.graph);
  if (runs_in_phases(placement, options)) {
    reduce_by_ops(training, placement, options.replicas);
  } else if (options.pipelining && options.accumulation_factor == 1 && options.replicas > 1) {
    reduce_copies_of_what_others_read(training, placement);
  }
  const Variables variables(training, placement, locations, std::move(parts));
  executor::Program program = build(training.graph, placement, options, heard, variables);
  if (training.slices > 1) slice_host_tensors(program, training, options);
  split_collectives(program);
  stream_variables(program, locations);
  share_blocks(program);
  share_remote_buffers(program);
  plan_memory(program);
  verify(program);
  return program;
}

executor::Program on_one_processor(ir::Graph graph) {
  const ir::Placement placement{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  return lower(std::move(graph), placement, {});
}

}  // namespace podium::lower
