// Convolutions with a window of one element, as the product that is left when the elements that the window
// stands on are brought together.
#pragma once

#include "executor/kernels/conv.h"

namespace podium::kernels {

/// Whether the window has one element, moves by more than one along some axis and stands on no padding, so
/// that elements of X (transposed: of Y) between those that it stands on are skipped.
bool skips(const ConvShape& shape);
/// The shape of what is left without the skipped elements: a window that moves by one.
ConvShape without_skipped(const ConvShape& shape);
/// `dense` is a convolution of that shape.
FloatConv make_skipping_conv(const ConvShape& shape, FloatConv dense);
FloatWeightGradient make_skipping_weight_gradient(const ConvShape& shape, FloatWeightGradient dense);

/// The shape of the product of all images (ir::pays_to_join_images), as of one image; `dense` is a convolution
/// of that shape.
ConvShape with_joined_images(const ConvShape& shape);
FloatConv make_joined_conv(const ConvShape& shape, FloatConv dense);
FloatWeightGradient make_joined_weight_gradient(const ConvShape& shape);

}  // namespace podium::kernels
