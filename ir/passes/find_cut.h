// Why a gradient does not reach what a value is computed from.
#pragma once

#include <span>

#include "ir/graph.h"

namespace podium::ir {

/// Of the ops through which `y` is computed from `xs` and through which nothing flows back (they have no
/// gradient), the one that a gradient on its way back from `y` meets first. Invalid where `y` is not computed
/// from `xs` at all, or a gradient meets none.
OpId find_cut(const Graph& graph, ValueId y, std::span<const ValueId> xs);

}  // namespace podium::ir
