// Products of quantised numbers that are the same wherever they are computed.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// Conv, Gemm and MatMul of dequantised numbers, constant weights among them, become products of whole
/// numbers that a Mul scales: DQ(x, s) W(t) = s t (x W). In floats, sums of whole numbers below 2^24 are
/// exact in any order, so a QuantizeLinear behind them rounds alike with every layout of the weights, on
/// every processor. The products say that they multiply bytes (annotation.h). Where scales differ along a
/// summed axis nothing is changed. Run before constants are folded; says whether anything changed.
bool multiply_whole_numbers(Graph& graph);

/// Of the scales of a DequantizeLinear: whether it makes whole numbers, as those in front of such products.
bool are_ones(const Tensor& scales);

}  // namespace podium::ir
