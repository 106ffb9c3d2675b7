// What an update sees of the gradients of many micro-batches and replicas (semantics, sections 5.1 to 5.3).
#pragma once

#include <span>
#include <vector>

#include "ir/passes/weight_update.h"

namespace podium::ir {

/// Appends accumulators where an update has several micro-batches, and says what replicas reduce. Each
/// update's gradient becomes what optimizers read in the outer context. `inverse_scale`: a factor on every
/// gradient.
void accumulate(std::span<WeightUpdate> updates, std::optional<Term> inverse_scale);

}  // namespace podium::ir
