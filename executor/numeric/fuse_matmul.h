// Products with constant weights become `podium.MatMul`, whose weights are packed once.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// MatMul and Gemm in float with a constant second factor. True when the graph changed.
bool fuse_matmul(ir::Graph& graph);

}  // namespace podium::numeric
