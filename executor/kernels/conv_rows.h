// Float convolutions of few channels: where a vector of channels would stay half empty, one lies along the
// rows of an image.
#pragma once

#include "executor/kernels/conv.h"

namespace podium::kernels {

/// The convolution with vectors along its rows, of weights that are known or change. Each result is the sum
/// over X's channels and then over the window.
FloatConv make_row_conv(const ConvShape& shape);

/// The gradient of the weights with vectors along the rows, each sum in the order of the images. A
/// result that is not all finite is computed by `otherwise`.
FloatWeightGradient make_row_weight_gradient(const ConvShape& shape, FloatWeightGradient otherwise);

}  // namespace podium::kernels
