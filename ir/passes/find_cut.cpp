#include "ir/passes/find_cut.h"

#include <ranges>

#include "ir/gradients/gradient.h"

namespace podium::ir {

OpId find_cut(const Graph& graph, ValueId y, std::span<const ValueId> xs) {
  IdMap<ValueId, bool> from_x(std::ssize(graph.values), false);
  for (ValueId x : xs) from_x[x] = true;
  for (const Op& op : graph.ops) {
    if (!any_of(inputs_of(op), from_x)) continue;
    for (ValueId id : outputs_of(op)) from_x[id] = true;
  }
  IdMap<ValueId, bool> meets_y(std::ssize(graph.values), false);
  meets_y[y] = true;
  for (OpId id : graph.op_ids() | std::views::reverse) {
    const Op& op = graph[id];
    if (!any_of(outputs_of(op), meets_y) || !any_of(inputs_of(op), from_x)) continue;
    if (!is_differentiable(*op.spec) && !op.spec->refuses_gradient) return id;
    for (ValueId input : inputs_of(op)) meets_y[input] = true;
  }
  return {};
}

}  // namespace podium::ir
