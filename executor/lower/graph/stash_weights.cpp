#include "executor/lower/graph/stash_weights.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "executor/lower/draft/stages.h"
#include "ir/at.h"

namespace podium::lower {

using ir::ValueId;

namespace {

std::set<ValueId> weights_of(const ir::Training& training) {
  std::set<ValueId> weights;
  for (const ir::Variable& variable : training.variables) {
    if (variable.kind == ir::VariableKind::Weight) weights.insert(variable.value);
  }
  return weights;
}

// The op that is the first, by its stage, to read each weight for a micro-batch.
std::map<ValueId, std::size_t> first_readers(const ir::Training& training, const Stages& stages) {
  const std::set<ValueId> weights = weights_of(training);
  std::map<ValueId, std::size_t> first;
  for (std::size_t i = 0; i < training.graph.ops.size(); ++i) {
    const ir::Op& op = training.graph.ops[i];
    if (ir::is_outer(op)) continue;
    for (ValueId id : op.inputs) {
      if (!id.valid() || !weights.contains(id)) continue;
      const auto [reader, is_new] = first.emplace(id, i);
      if (!is_new && stages.of_op[i] < stages.of_op[reader->second]) reader->second = i;
    }
  }
  return first;
}

}  // namespace

void stash_weights(ir::Training& training, ir::Placement& placement) {
  ir::Graph& graph = training.graph;
  const Stages stages = merge_stages(placement);
  const std::map<ValueId, std::size_t> first = first_readers(training, stages);
  std::map<ValueId, ValueId> stashed;
  std::vector<ir::Op> takers;
  std::vector<ir::OpPlacement> places;
  for (std::size_t i = 0; i < graph.ops.size(); ++i) {
    if (ir::is_outer(graph.ops[i])) continue;
    for (ValueId& id : graph.ops[i].inputs) {
      const auto reader = id.valid() ? first.find(id) : first.end();
      if (reader == first.end() || stages.of_op[i] == stages.of_op[reader->second]) continue;
      const auto [entry, is_new] = stashed.try_emplace(id);
      if (is_new) {
        const ir::Value weight = graph[id];
        entry->second = graph.add_value(graph.fresh_name(weight.name + "__stash"), weight.type);
        takers.push_back({.spec = ir::find_op("", "Identity"), .inputs = {id}, .outputs = {entry->second}});
        places.push_back(placement.ops[reader->second]);
      }
      id = entry->second;
    }
  }
  graph.ops.insert(graph.ops.begin(), std::make_move_iterator(takers.begin()),
                   std::make_move_iterator(takers.end()));
  placement.ops.insert(placement.ops.begin(), places.begin(), places.end());
}

}  // namespace podium::lower
