#include "ir/accumulated_values.h"

#include <set>

namespace podium::ir {

IdMap<ValueId, bool> accumulated_values(const Training& training) {
  const std::set<ValueId> reduced(training.reduced.begin(), training.reduced.end());
  IdMap<ValueId, bool> accumulated(std::ssize(training.graph.values), false);
  for (const Variable& variable : training.variables) {
    accumulated[variable.value] =
        variable.kind == VariableKind::Accumulator || reduced.contains(variable.value);
  }
  for (const Op& op : training.graph.ops) {
    if (is_outer(op) || !any_of(inputs_of(op), accumulated)) continue;
    for (ValueId id : outputs_of(op)) accumulated[id] = true;
  }
  return accumulated;
}

}  // namespace podium::ir
