#include "executor/lower/graph/reductions.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "executor/lower/program/split_collectives.h"
#include "ir/at.h"

namespace podium::lower {

using executor::CollectiveKind;
using executor::CollectiveReduction;
using ir::Op;
using ir::OpPlacement;
using ir::ValueId;

std::map<ValueId, ir::ReplicaGroup> reduction_groups(const ir::Training& training,
                                                     const ir::Placement& placement) {
  std::map<ValueId, ir::ReplicaGroup> groups;
  if (placement.variable_groups.empty()) return groups;
  const ir::Graph& graph = training.graph;
  const std::set<ValueId> is_reduced(training.reduced.begin(), training.reduced.end());
  const auto producer = producers(graph);
  for (const ir::Update& update : training.updates) {
    const auto group = placement.variable_groups.find(graph[update.variable].name);
    if (group == placement.variable_groups.end() || !update.outer) continue;
    std::set<ValueId> seen;
    std::vector<ValueId> open{graph.outputs[update.output]};
    while (!open.empty()) {
      const ValueId id = open.back();
      open.pop_back();
      if (!id.valid() || !seen.insert(id).second) continue;
      if (is_reduced.contains(id)) groups.emplace(id, group->second);
      const ir::OpId maker = producer[at(id)];
      // A norm is of other weights too; the weight's own gradient reaches it element by element as well.
      if (maker.valid() && is_outer(graph[maker]) && !graph[maker].is("ReduceSumSquare")) {
        open.insert(open.end(), graph[maker].inputs.begin(), graph[maker].inputs.end());
      }
    }
  }
  return groups;
}

void reduce_by_ops(ir::Training& training, ir::Placement& placement, int replicas) {
  const std::map<ValueId, ir::ReplicaGroup> groups = reduction_groups(training, placement);
  const std::vector<ValueId> reduced = std::exchange(training.reduced, {});
  if (replicas == 1) return;
  ir::Graph& graph = training.graph;
  const std::set<ValueId> is_reduced(reduced.begin(), reduced.end());
  const CollectiveReduction reduction =
      training.reduces_by_mean ? CollectiveReduction::Mean : CollectiveReduction::Add;
  std::map<ValueId, ValueId> results;
  const std::vector<Op> ops = std::exchange(graph.ops, {});
  const std::vector<OpPlacement> places = std::exchange(placement.ops, {});
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op op = ops[i];
    for (ValueId& id : op.inputs) {
      if (!is_outer(op) || !id.valid() || !is_reduced.contains(id)) continue;
      const auto [result, is_new] = results.try_emplace(id);
      if (is_new) {
        const ir::Value source = graph[id];
        result->second = graph.add_value(graph.fresh_name(source.name), source.type);
        const auto group = groups.find(id);
        Op reduce =
            collective_op(CollectiveKind::AllReduce, reduction,
                          group == groups.end() ? ir::ReplicaGroup{} : group->second, id, result->second);
        ir::set_attribute(reduce, ir::kContextAttribute, ir::kOuterContext);
        graph.ops.push_back(std::move(reduce));
        placement.ops.push_back(places[i]);
      }
      id = result->second;
    }
    graph.ops.push_back(std::move(op));
    placement.ops.push_back(places[i]);
  }
}

void reduce_copies_of_what_others_read(ir::Training& training, ir::Placement& placement) {
  ir::Graph& graph = training.graph;
  std::set<ValueId> is_shared(graph.outputs.begin(), graph.outputs.end());
  for (const Op& op : graph.ops) {
    if (!is_outer(op)) is_shared.insert(op.inputs.begin(), op.inputs.end());
  }
  const std::set<ValueId> inputs(graph.inputs.begin(), graph.inputs.end());
  const std::set<ValueId> is_reduced(training.reduced.begin(), training.reduced.end());
  std::map<ValueId, ValueId> copies;
  const std::vector<Op> ops = std::exchange(graph.ops, {});
  const std::vector<OpPlacement> places = std::exchange(placement.ops, {});
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op op = ops[i];
    for (ValueId& id : op.inputs) {
      if (!is_outer(op) || !is_shared.contains(id) || inputs.contains(id)) continue;
      if (!is_reduced.contains(id)) continue;
      const auto [copy, is_new] = copies.try_emplace(id);
      if (is_new) {
        const ir::Value source = graph[id];
        copy->second = graph.add_value(graph.fresh_name(source.name), source.type);
        graph.ops.push_back({.spec = ir::find_op("", "Identity"), .inputs = {id}, .outputs = {copy->second}});
        placement.ops.push_back(places[i]);
        std::replace(training.reduced.begin(), training.reduced.end(), id, copy->second);
      }
      id = copy->second;
    }
    graph.ops.push_back(std::move(op));
    placement.ops.push_back(places[i]);
  }
}

}  // namespace podium::lower
