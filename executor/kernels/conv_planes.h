// Depthwise convolutions of tensors as ONNX has them: a plane, one channel of one image, at a time.
#pragma once

#include "executor/kernels/conv.h"

namespace podium::kernels {

/// The convolution or the transposed one of a shape that ir::pays_by_planes takes, of weights that are known
/// or change. Each result is the sum over the window.
FloatConv make_plane_conv(const ConvShape& shape);

/// The gradient of its weights, each sum in the order of the images.
FloatWeightGradient make_plane_weight_gradient(const ConvShape& shape);

}  // namespace podium::kernels
