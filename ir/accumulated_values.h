// What micro-batches add up between updates.
#pragma once

#include "ir/training.h"

namespace podium::ir {

/// Accumulators, states that gradients are added to, and what ops of micro-batches make of these. Strategies
/// add up in several accumulators, in an order of their own: only the sums that updates read mean the same
/// everywhere.
IdMap<ValueId, bool> accumulated_values(const Training& training);

}  // namespace podium::ir
