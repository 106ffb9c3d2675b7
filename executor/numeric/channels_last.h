// Puts convolutions, and what stands between them, on channels-last memory.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// Float convolutions with constant weights become `podium.Convolution`, pools `podium.Pool`, elementwise ops
/// and Concat between them run on the same layout; `podium.ToChannelsLast` and `podium.ToChannelsFirst`
/// (or `podium.View` where no byte moves) stand only at the borders. True when the graph changed.
bool channels_last(ir::Graph& graph);

}  // namespace podium::numeric
