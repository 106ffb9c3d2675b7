// Why a gradient does not reach what a value is computed from.
#pragma once

#include <span>

#include "ir/graph.h"

namespace podium::ir {

/// The op that stops a gradient on its way back from `y` to `xs`. A gradient stops at an op without a
/// gradient; of those between `xs` and `y` the result is the one that the gradient meets first. Invalid where
/// `y` is not computed from `xs` at all, or where no op stops the gradient.
OpId find_cut(const Graph& graph, ValueId y, std::span<const ValueId> xs);

}  // namespace podium::ir
