// The convolutions, prepared for float and double; the integer ones for bytes.
#pragma once

#include <algorithm>
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

/// Every element of a channel of Y starts as its bias; nullptr: 0.
template <class T>
void fill_with_bias(const ConvShape& shape, const T* bias, T* y) {
  const std::int64_t channels = shape.group * shape.out_channels;
  for (std::int64_t i = 0; i < shape.batch * channels; ++i)
    std::fill_n(y + i * shape.out_size, shape.out_size, bias == nullptr ? T{0} : bias[i % channels]);
}

/// A float convolution, on tensors as ONNX lays them out.
struct FloatConv {
  std::size_t scratch_bytes = 0;
  /// Arguments: x, weights, bias (nullptr: none), y, scratch memory.
  std::function<void(const float*, const float*, const float*, float*, std::byte*)> run;
};
/// One of one to three axes by oneDNN; nullopt when it has none for this shape. `weights` is nullptr when
/// they are not constant.
std::optional<FloatConv> make_library_conv(const ConvShape& shape, bool has_bias, const Tensor* weights);

/// The gradient of the weights of a float convolution of one group.
struct FloatWeightGradient {
  std::size_t scratch_bytes = 0;
  /// Arguments: x, the gradient of Y, that of the weights, scratch memory.
  std::function<void(const float*, const float*, float*, std::byte*)> run;
};
/// By oneDNN; nullopt when it has none for this shape, which is that of the convolution. The sums come in an
/// order that only the machine's number of threads decides.
std::optional<FloatWeightGradient> make_library_weight_gradient(const ConvShape& shape);

}  // namespace podium::kernels
