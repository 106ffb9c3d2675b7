// Recognises activation functions that exporters wrote as several ops.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// Gelu with Erf or Tanh in the forms of the common exporters becomes `Gelu`; `x * Sigmoid(x)` becomes
/// `Swish`, `x * HardSigmoid(x)` `HardSwish`. True when the graph changed.
bool fuse_gelu(ir::Graph& graph);

}  // namespace podium::numeric
