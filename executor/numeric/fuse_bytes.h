// Convolutions of quantised numbers, whose sums are exact (ir/passes/whole_products.h), become convolutions
// of bytes.
#pragma once

#include <optional>
#include <vector>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

/// The inputs of the ByteConvolution that stands for `op`, a Conv or a QLinearConv, or for a ConvInteger and
/// the Cast to float that alone reads it; X lies as the model says. Nothing where `op` is no convolution of
/// known bytes, or where the machine has no instructions that multiply bytes exactly.
std::optional<std::vector<ir::ValueId>> byte_operands(Rewriter& rewriter, const ir::Op& op);

/// Products of quantised numbers with known matrices become `podium.ByteMatMul`, but for those of a few rows,
/// which take as long as reading the weights. Says whether anything changed.
bool make_byte_products(ir::Graph& graph);

/// A ByteConvolution or ByteMatMul takes in what stands behind it: the product with scales, or with one that
/// runs make, the sum with a bias, a Relu or Clip, and a QuantizeLinear of one scale. Says whether anything
/// changed.
bool fuse_bytes(ir::Graph& graph);

}  // namespace podium::numeric
