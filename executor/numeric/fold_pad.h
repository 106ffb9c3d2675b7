// A rewrite for the engine: zeros around an image that a convolution can add itself.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// `Conv(Pad(x))` with known zeros along spatial axes becomes `Conv(x)` with more padding, where nothing else
/// reads the Pad. True when the graph changed.
bool fold_pad(ir::Graph& graph);

}  // namespace podium::numeric
