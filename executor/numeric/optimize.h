// Rewrites a block's graph for speed before kernels are prepared. Nothing outside the engine sees the result.
#pragma once

#include "executor/numeric/channels_last.h"

namespace podium::numeric {

/// The same inputs, outputs and numbers (to rounding), fewer and larger ops, layouts that suit the kernels.
/// Ops of domain "podium" may appear. Where shapes are not static the graph stays as it is.
void optimize(ir::Graph& graph, const Layouts& layouts = {});

}  // namespace podium::numeric
