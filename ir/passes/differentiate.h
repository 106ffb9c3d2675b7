// Reverse-mode differentiation: appends to a graph the ops that compute gradients.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

/// Appends the ops for the gradients of the sum of all elements of `y` with respect to each of `xs`, which are taken as
/// independent of each other; zeros where y does not depend on one. Types must be inferred.
/// Contributions to one value are summed in the reverse order of the ops that read it: the same on every run.
/// Error names the node that has no gradient.
std::vector<ValueId> differentiate(Graph& graph, ValueId y, std::span<const ValueId> xs);

}  // namespace podium::ir
