// Weights that a DequantizeLinear makes of known numbers of few bits, and products that read them as they
// are.
#pragma once

#include <optional>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

/// The matrix whose transposition was folded to these weights, whoever else may read them.
std::optional<ir::Tensor> transposed_from(const ir::Tensor& weights);

/// The `podium.DequantizedMatMul` that stands for a MatMul or Gemm, without outputs: its weights come from a
/// DequantizeLinear that was folded, or runs each time, perhaps transposed. Its x and bias are the product's;
/// a caller whose product is of halves puts floats in their places. Nothing where the scales cannot be taken
/// out of the sum.
std::optional<ir::Op> narrow_product(Rewriter& rewriter, const ir::Op& product);

}  // namespace podium::numeric
