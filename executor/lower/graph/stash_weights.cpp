#include "executor/lower/graph/stash_weights.h"

#include <map>
#include <set>

namespace podium::lower {

using ir::OpPlacement;
using ir::ValueId;

namespace {

// Where each weight is first read for a micro-batch: in the lowest stage, by the first op there.
std::map<ValueId, OpPlacement> first_reads(const PlacedGraph& placed, const Stages& stages) {
  const std::set<ValueId> weights = weights_of(placed.training);
  std::map<ValueId, OpPlacement> first;
  for (ir::OpId op : placed.graph().op_ids()) {
    if (placed.is_outer(op)) continue;
    for (ValueId id : inputs_of(placed.graph()[op])) {
      if (!weights.contains(id)) continue;
      const auto [read, is_new] = first.emplace(id, placed[op]);
      if (!is_new && stages.of(placed[op]) < stages.of(read->second)) read->second = placed[op];
    }
  }
  return first;
}

}  // namespace

void stash_weights(PlacedGraph& placed, const Stages& stages) {
  ir::Graph& graph = placed.graph();
  const std::map<ValueId, OpPlacement> first = first_reads(placed, stages);
  ir::IdMap<ir::OpId, PlacedOp> ops = placed.take_ops();
  const auto is_read_late = [&](ValueId id, const PlacedOp& by) {
    const auto read = id.valid() && !by.is_outer() ? first.find(id) : first.end();
    return read != first.end() && stages.of(by.place) != stages.of(read->second);
  };
  std::map<ValueId, ValueId> stashed;
  for (const PlacedOp& one : ops) {
    for (ValueId id : one.op.inputs) {
      if (!is_read_late(id, one) || stashed.contains(id)) continue;
      stashed[id] = placed.append_copy(id, graph.fresh_name(graph[id].name + "__stash"), first.at(id));
    }
  }
  for (PlacedOp& one : ops) {
    for (ValueId& id : one.op.inputs) {
      if (is_read_late(id, one)) id = stashed.at(id);
    }
    placed.append(std::move(one.op), one.place);
  }
}

}  // namespace podium::lower
