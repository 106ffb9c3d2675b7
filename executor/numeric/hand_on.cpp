#include "executor/numeric/hand_on.h"

#include <map>

#include "ir/graph.h"
#include "ir/passes/remove_dead.h"

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

}  // namespace podium::numeric
