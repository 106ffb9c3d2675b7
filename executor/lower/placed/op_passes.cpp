#include "executor/lower/placed/op_passes.h"

namespace podium::lower {

using ir::Graph;
using ir::IdMap;
using ir::Op;
using ir::OpId;
using ir::ValueId;

IdMap<OpId, OpPass> passes_of(const PlacedGraph& placed) {
  const Graph& graph = placed.graph();
  IdMap<OpId, OpPass> passes(std::ssize(graph.ops), OpPass::Forward);
  if (placed.training.updates.empty() && placed.training.reduced.empty()) return passes;
  IdMap<ValueId, bool> to_loss(std::ssize(graph.values), false);
  IdMap<ValueId, bool> to_update(std::ssize(graph.values), false);
  to_loss[graph.outputs[placed.training.loss]] = true;
  for (const ir::Update& update : placed.training.updates) to_update[graph.outputs[update.output]] = true;
  for (ValueId gradient : placed.training.reduced) to_update[gradient] = true;
  for (OpId id : backwards(graph)) {
    const Op& op = graph[id];
    bool leads_to_loss = false;
    bool leads_to_update = false;
    for (ValueId made : outputs_of(op)) {
      leads_to_loss = leads_to_loss || to_loss[made];
      leads_to_update = leads_to_update || to_update[made];
    }
    if (placed.is_outer(id)) {
      passes[id] = OpPass::Update;
    } else if (!leads_to_loss && leads_to_update) {
      passes[id] = OpPass::Backward;
    }
    for (ValueId read : inputs_of(op)) {
      to_loss[read] = to_loss[read] || leads_to_loss;
      to_update[read] = to_update[read] || leads_to_update;
    }
  }
  return passes;
}

}  // namespace podium::lower
