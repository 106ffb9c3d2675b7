// A rewrite for the engine: a depthwise convolution is joined with those around it.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// A depthwise `podium.Convolution` in two dimensions becomes one `podium.DepthwiseBlock` with the
/// convolution whose result it alone reads (pointwise, or with strides), the pointwise one that alone reads
/// its result, or both, where what they hand on is too large for the second-level cache. To run behind
/// fuse_post_ops. True when the graph changed.
bool fuse_depthwise(ir::Graph& graph);

}  // namespace podium::numeric
