// Recognises normalisation over the last axis that exporters wrote as several ops.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// (x - mean) / sqrt(variance + epsilon) * scale + bias in primitive ops becomes `LayerNormalization`.
/// True when the graph changed.
bool fuse_layer_norm(ir::Graph& graph);

}  // namespace podium::numeric
