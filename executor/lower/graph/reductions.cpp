#include "executor/lower/graph/reductions.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "executor/lower/program/split_collectives.h"
#include "ir/ops/replicated.h"

namespace podium::lower {

using executor::CollectiveKind;
using executor::CollectiveReduction;
using ir::ValueId;

std::map<ValueId, ir::ReplicaGroup> reduction_groups(const PlacedGraph& placed) {
  const ir::Training& training = placed.training;
  const std::map<std::string, ir::ReplicaGroup>& variable_groups = placed.placement.variable_groups;
  std::map<ValueId, ir::ReplicaGroup> groups;
  if (variable_groups.empty()) return groups;
  const ir::Graph& graph = placed.graph();
  const std::set<ValueId> is_reduced(training.reduced.begin(), training.reduced.end());
  const auto producer = producers(graph);
  for (const ir::Update& update : training.updates) {
    const auto group = variable_groups.find(graph[update.variable].name);
    if (group == variable_groups.end() || !update.outer) continue;
    std::set<ValueId> seen;
    std::vector<ValueId> open{graph.outputs[update.output]};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!id.valid() || !seen.insert(id).second) continue;
      if (is_reduced.contains(id)) groups.emplace(id, group->second);
      const ir::OpId maker = producer[id];
      // A norm is of other weights too; the weight's own gradient reaches it element by element as well.
      if (maker.valid() && placed.is_outer(maker) && !graph[maker].is("ReduceSumSquare")) {
        open.insert(open.end(), graph[maker].inputs.begin(), graph[maker].inputs.end());
      }
    }
  }
  return groups;
}

void reduce_by_ops(PlacedGraph& placed, int replicas) {
  const std::map<ValueId, ir::ReplicaGroup> groups = reduction_groups(placed);
  const std::vector<ValueId> reduced = std::exchange(placed.training.reduced, {});
  if (replicas == 1) return;
  ir::Graph& graph = placed.graph();
  const std::set<ValueId> is_reduced(reduced.begin(), reduced.end());
  const CollectiveReduction reduction =
      placed.training.reduces_by_mean ? CollectiveReduction::Mean : CollectiveReduction::Add;
  std::map<ValueId, ValueId> results;
  for (PlacedOp& one : placed.take_ops()) {
    for (std::size_t i = 0; i < one.op.inputs.size(); ++i) {
      ValueId& id = one.op.inputs[i];
      if (!one.is_outer() || !is_reduced.contains(id)) continue;
      const auto [result, is_new] = results.try_emplace(id);
      if (is_new) {
        const ir::Value source = graph[id];
        result->second = graph.add_value(graph.fresh_name(source.name), source.type);
        const auto group = groups.find(id);
        placed.append(
            collective_op(CollectiveKind::AllReduce, reduction,
                          group == groups.end() ? ir::ReplicaGroup{} : group->second, id, result->second),
            one.place_of_input(i));
      }
      id = result->second;
    }
    placed.append(std::move(one.op), one.place);
  }
}

void reduce_copies_of_what_others_read(PlacedGraph& placed) {
  ir::Graph& graph = placed.graph();
  std::vector<ValueId>& reduced = placed.training.reduced;
  std::set<ValueId> is_shared(graph.outputs.begin(), graph.outputs.end());
  for (ir::OpId op : graph.op_ids()) {
    if (!placed.is_outer(op)) is_shared.insert(graph[op].inputs.begin(), graph[op].inputs.end());
  }
  for (ValueId id : graph.inputs) is_shared.erase(id);
  const std::set<ValueId> is_reduced(reduced.begin(), reduced.end());
  std::map<ValueId, ValueId> copies;
  for (PlacedOp& one : placed.take_ops()) {
    for (std::size_t i = 0; i < one.op.inputs.size(); ++i) {
      ValueId& id = one.op.inputs[i];
      if (!one.is_outer() || !is_reduced.contains(id) || !is_shared.contains(id)) continue;
      const auto [copy, is_new] = copies.try_emplace(id);
      if (is_new) {
        copy->second = placed.append_copy(id, graph.fresh_name(graph[id].name),
                                          in_context(one.place_of_input(i), ir::Context::MicroBatch));
        std::replace(reduced.begin(), reduced.end(), id, copy->second);
      }
      id = copy->second;
    }
    placed.append(std::move(one.op), one.place);
  }
}

namespace {

CollectiveKind kind_of(const ir::Op& op) {
  if (op.is("ReplicatedAllGather", "podium")) return CollectiveKind::AllGather;
  return op.is("ReplicatedAllReduce", "podium") ? CollectiveKind::AllReduce : CollectiveKind::ReduceScatter;
}

CollectiveReduction reduction_of(const ir::Op& op) {
  const auto* word = ir::attribute_if<std::string>(op, "reduction");
  if (word == nullptr || *word == "sum") return CollectiveReduction::Add;
  return *word == "mean" ? CollectiveReduction::Mean : CollectiveReduction::Local;
}

void append_exchange(PlacedGraph& placed, const PlacedOp& one) {
  ir::Graph& graph = placed.graph();
  const CollectiveKind kind = kind_of(one.op);
  const ir::ValueId source = one.op.inputs[0];
  // A copy is made by a block, whatever the source is: a weight, an input, or what lies on other tiles.
  const ir::ValueId from = placed.append_copy(source, graph.fresh_name(graph[source].name), one.place);
  const ir::ValueId result = one.op.outputs[0];
  ir::ValueId to = result;
  if (kind == CollectiveKind::ReduceScatter) {
    const ir::Value whole = graph[result];
    to = graph.add_value(graph.fresh_name(whole.name), whole.type);
  }
  placed.append(collective_op(kind, reduction_of(one.op), ir::replica_group(one.op), from, to), one.place);
  if (to != result) {
    placed.append({.spec = ir::find_op("", "Identity"), .inputs = {to}, .outputs = {result}}, one.place);
  }
}

}  // namespace

void exchange_by_ops(PlacedGraph& placed) {
  const auto meets = [](const ir::Op& op) {
    return ir::exchanges_between_replicas(op) && ir::group_members(op).value_or(1) > 1;
  };
  if (std::none_of(placed.graph().ops.begin(), placed.graph().ops.end(), meets)) return;
  for (PlacedOp& one : placed.take_ops()) {
    if (meets(one.op)) {
      append_exchange(placed, one);
    } else {
      placed.append(std::move(one.op), one.place);
    }
  }
}

}  // namespace podium::lower
