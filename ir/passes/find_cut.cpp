#include "ir/passes/find_cut.h"

#include <algorithm>

#include "ir/at.h"
#include "ir/gradients/gradient.h"

namespace podium::ir {
namespace {

bool reads_any(const Op& op, const std::vector<bool>& values) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](ValueId id) { return id.valid() && values[at(id)]; });
}

bool makes_any(const Op& op, const std::vector<bool>& values) {
  return std::any_of(op.outputs.begin(), op.outputs.end(),
                     [&](ValueId id) { return id.valid() && values[at(id)]; });
}

}  // namespace

OpId find_cut(const Graph& graph, ValueId y, std::span<const ValueId> xs) {
  std::vector<bool> from_x(graph.values.size(), false);
  for (ValueId x : xs) from_x[at(x)] = true;
  for (const Op& op : graph.ops) {
    if (!reads_any(op, from_x)) continue;
    for (ValueId id : op.outputs) {
      if (id.valid()) from_x[at(id)] = true;
    }
  }
  std::vector<bool> meets_y(graph.values.size(), false);
  meets_y[at(y)] = true;
  for (std::size_t i = graph.ops.size(); i-- > 0;) {
    const Op& op = graph.ops[i];
    if (!makes_any(op, meets_y) || !reads_any(op, from_x)) continue;
    if (!is_differentiable(*op.spec) && !op.spec->refuses_gradient) return {static_cast<std::int32_t>(i)};
    for (ValueId id : op.inputs) {
      if (id.valid()) meets_y[at(id)] = true;
    }
  }
  return {};
}

}  // namespace podium::ir
