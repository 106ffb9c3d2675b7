// Sizes of a convolution, which kernels and the clock of the host compute with.
#pragma once

#include "ir/ops/window.h"

namespace podium::ir {

/// Sizes of a convolution that every kernel needs. In a transposed convolution `in_size` belongs to X and
/// `out_size` to Y.
struct ConvShape {
  Window window = {};
  bool transposed = false;
  std::int64_t batch = 1;
  std::int64_t group = 1;
  std::int64_t in_channels = 1;   ///< of one group
  std::int64_t out_channels = 1;  ///< of one group
  std::int64_t kernel_size = 1;
  std::int64_t in_size = 1;
  std::int64_t out_size = 1;

  std::int64_t depth() const { return in_channels * kernel_size; }
};

/// Of Conv and its relatives; `w` is the number of the input that holds the weights.
ConvShape conv_shape(const TypedOp& op, std::size_t w);
ConvShape conv_transpose_shape(const TypedOp& op);
/// Of ConvWeightGradient: the shape of the convolution.
ConvShape weight_gradient_shape(const TypedOp& op);

}  // namespace podium::ir
