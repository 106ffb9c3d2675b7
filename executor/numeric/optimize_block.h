// Rewrites a block's graph for speed before kernels are prepared. Nothing outside the engine sees the result.
#pragma once

#include "executor/numeric/channels_last.h"

namespace podium::numeric {

/// Gives a graph with the same inputs, outputs and numbers (to rounding), with fewer and larger ops and with
/// layouts that suit the kernels. Ops of domain "podium" may appear. Where shapes are not static the graph
/// stays as it is.
void optimize_block(ir::Graph& graph, const Layouts& layouts = {});

}  // namespace podium::numeric
