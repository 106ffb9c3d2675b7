#include "ir/passes/sample_total.h"

#include <algorithm>

namespace podium::ir {

int total_over_samples(const SampledOp& op) {
  const bool of_totals = std::any_of(op.inputs.begin(), op.inputs.end(), is_total);
  const bool of_samples = std::any_of(op.inputs.begin(), op.inputs.end(), [](int axis) { return axis >= 0; });
  const TotalRule rule = op.typed.op.spec->total;
  return of_totals == of_samples || rule == nullptr ? kNoAxis : rule(op);
}

}  // namespace podium::ir
