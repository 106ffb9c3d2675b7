// Derivatives of bodies: what the gradient builders of If, Loop and Scan share.
#pragma once

#include <span>
#include <vector>

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Takes the random ops out of a body, so that a body computed again can be given the numbers that were drawn
/// the first time. Gives the values of these numbers, which no op of the body makes any more; a Dropout
/// becomes a product with its mask. Error for a random op in a body of the body.
std::vector<ValueId> take_random(Graph& body);

/// The values that take_random would give. A Dropout without an output for its mask gets one.
std::vector<ValueId> random_values(Graph& body);

/// An Identity of the value, because a body may not have one value twice among its outputs.
ValueId handed_on(Graph& body, ValueId value);

}  // namespace podium::ir
