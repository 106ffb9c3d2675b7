// Weights that a DequantizeLinear makes of known numbers of few bits, and products that read them as they
// are.
#pragma once

#include <optional>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

/// The matrix whose transposition was folded to these weights, whoever else may read them.
std::optional<ir::Tensor> transposed_from(const ir::Tensor& weights);

/// The `podium.DequantizedMatMul` that stands for a MatMul or Gemm: its weights come from a DequantizeLinear
/// that was folded, or runs each time, perhaps transposed. Its x, bias and outputs, which it has none of, are
/// the product's: floats are needed there. Nothing where its scales cannot be taken out of the sum.
std::optional<ir::Op> narrow_product(Rewriter& rewriter, const ir::Op& product);

}  // namespace podium::numeric
