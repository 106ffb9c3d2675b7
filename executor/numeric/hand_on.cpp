#include "executor/numeric/hand_on.h"

#include <map>

#include "ir/gradients/gradient.h"
#include "ir/remove_dead.h"

namespace podium::numeric {

using ir::ValueId;

void hand_on_inputs(ir::Graph& graph) {
  std::map<ValueId, ValueId> stands_for;
  for (ValueId id : graph.inputs) stands_for.emplace(id, id);
  for (const ir::Op& op : graph.ops) {
    if (!op.is("Identity")) continue;
    const auto input = stands_for.find(op.inputs[0]);
    if (input != stands_for.end()) stands_for.emplace(op.outputs[0], input->second);
  }
  bool changed = false;
  for (ValueId& id : graph.outputs) {
    const auto input = stands_for.find(id);
    if (input == stands_for.end() || input->second == id) continue;
    id = input->second;
    changed = true;
  }
  if (changed) ir::remove_dead(graph);
}

void hand_on_zeros(ir::Graph& graph) {
  std::erase_if(graph.ops, [&](const ir::Op& op) {
    if (op.spec != ir::find_op("podium", "Zeros")) return false;
    ir::Value& zeros = graph[op.outputs[0]];
    zeros.constant = ir::filled(zeros.type.element, zeros.type.dims, 0);
    return true;
  });
}

}  // namespace podium::numeric
