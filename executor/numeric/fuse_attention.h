// The products and the softmax of attention, without moving heads in memory.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// A MatMul of two computed values takes in the Transposes around it and a scalar factor
/// (`podium.StridedMatMul`); a Softmax over the last axis takes in the mask that is added before it
/// (`podium.MaskedSoftmax`). Two products with a softmax between them are one op (`podium.StridedAttention`)
/// where all scores are more than a cache keeps. True when the graph changed.
bool fuse_attention(ir::Graph& graph);

}  // namespace podium::numeric
