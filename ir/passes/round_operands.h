// Products whose operands are in 8 bits, whatever the model has them in.
#pragma once

#include <set>

#include "ir/graph.h"

namespace podium::ir {

/// What annotations say of the operands of a MatMul or Gemm (kOperandsType), and its gradients with it.
inline constexpr std::string_view kAsStored = "float";
inline constexpr std::string_view kMxFp8 = "mxfp8";

/// Whether this is a MatMul or Gemm that asks for operands in 8 bits; floats can be rounded to them.
bool asks_for_narrow_operands(const Op& op);

/// Asks for operands in 8 bits of every MatMul and Gemm, but for those in bodies, that multiplies by one of
/// the `weights` or a constant, or by what other shapes, orders and types make of one, and says nothing
/// itself. Quantised products have 8 bits already.
void ask_for_narrow_operands(Graph& graph, const std::set<ValueId>& weights);

/// Rounds the operands of products that ask for 8 bits: a RoundToBlocks of each along its inner axis, in
/// front of the product and where it is, or of what only brings it into another order. Products keep what
/// they ask for. Says whether there were any. Error for an operand of unknown rank.
bool round_operands(Graph& graph);

}  // namespace podium::ir
