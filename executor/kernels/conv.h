// The convolutions, prepared for float and double; the integer ones for bytes.
#pragma once

#include <functional>
#include <optional>

#include "executor/kernels/conv_columns.h"
#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel prepare_conv(PrepareContext& context);
PreparedKernel prepare_conv_transpose(PrepareContext& context);
PreparedKernel prepare_conv_integer(PrepareContext& context);
PreparedKernel prepare_qlinear_conv(PrepareContext& context);
PreparedKernel prepare_deform_conv(PrepareContext& context);
/// Prepared for every element type.
PreparedKernel prepare_causal_conv(PrepareContext& context);

/// A float convolution of one to three axes by oneDNN, on tensors as ONNX lays them out.
struct FloatConv {
  std::size_t scratch_bytes = 0;
  /// Arguments: x, weights, bias (nullptr: none), y, scratch memory.
  std::function<void(const float*, const float*, const float*, float*, std::byte*)> run;
};
/// Makes such a convolution; nullopt when oneDNN has none for this shape. `weights` is nullptr when they are
/// not constant.
std::optional<FloatConv> make_library_conv(const ConvShape& shape, bool has_bias, const Tensor* weights);

/// The gradient of the weights of a float convolution of one group by oneDNN. The sums come in an order that
/// only the machine's number of threads decides.
struct FloatWeightGradient {
  std::size_t scratch_bytes = 0;
  /// Arguments: x, the gradient of Y, that of the weights, scratch memory.
  std::function<void(const float*, const float*, float*, std::byte*)> run;
};
/// nullopt when oneDNN has none for this shape. `shape` is that of the convolution.
std::optional<FloatWeightGradient> make_library_weight_gradient(const ConvShape& shape);

}  // namespace podium::kernels
