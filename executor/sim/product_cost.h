// What the products of an op cost on one processor: matrix products, convolutions with their gradients,
// recurrent cells and attention.
#pragma once

#include <vector>

#include "executor/sim/op_cost.h"
#include "executor/sim/products.h"

namespace podium::sim {

double bytes_of(const ir::Type& type);
/// Bytes of all inputs, and of all outputs, whose sizes are known.
double input_bytes(const ir::TypedOp& op);
double output_bytes(const ir::TypedOp& op);
/// In what width an op computes, in bytes: of its first input and output the wider.
double element_bytes(const ir::TypedOp& op);

/// The type that matrix units multiply.
ir::DataType multiplied_type(const ir::TypedOp& op, const device::Device& device);

/// Of an op that consists of these products, one after the other, with what lies between them: the gates of a
/// cell, the softmax of scores. On matrix units or, where these would idle, on vector units.
OpCost products_cost(const ir::TypedOp& op, const std::vector<RepeatedProduct>& products,
                     const device::Device& device, int tiles);

/// The cycles of so many flop in a kernel of attention whose rows look at `positions` others: the share of
/// the rate that it reaches rises with them. The device has such a kernel.
double attention_cycles(double flop, double positions, double width, const device::Device& device, int tiles);

}  // namespace podium::sim
