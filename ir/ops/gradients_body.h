// Derivatives of bodies: what the gradient builders of If, Loop and Scan share.
#pragma once

#include <span>
#include <vector>

#include "ir/ops/gradients.h"

namespace podium::ir {

/// Takes what is drawn at random out of a body, so that the body computed again can be given what was drawn
/// the first time: the values it reads instead. An op that is random in a body of the body is an Error.
std::vector<ValueId> take_random(Graph& body);

/// The values that take_random would give; makes those of them that have no value yet.
std::vector<ValueId> random_values(Graph& body);

/// An Identity of the value, as a body may not hand out one value twice.
ValueId handed_on(Graph& body, ValueId value);

}  // namespace podium::ir
