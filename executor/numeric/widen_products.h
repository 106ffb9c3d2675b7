// Products and recurrences of float16 or bfloat16 with known weights compute in float and round once.
#pragma once

#include "ir/graph.h"

namespace podium::numeric {

/// MatMul and Gemm with a constant second factor become a Cast of the first one, a `podium.MatMul` and a Cast
/// of its result. The weights keep their width: a few rows read them as they are, and for more they are made
/// floats once, when they are packed. Those of few bits stay narrow (narrow_weights.h): what they stand for
/// is not rounded to 16 bits then. LSTM, GRU and RNN get weights of floats. True when the graph changed.
bool widen_products(ir::Graph& graph);

}  // namespace podium::numeric
