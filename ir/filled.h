// Tensors of floats made of a number.
#pragma once

#include "ir/tensor.h"

namespace podium::ir {

/// A tensor of floats that are all `value`. Error for an element type without gradients.
Tensor filled(DataType element, Dims dims, double value);
/// A tensor of floats times a number, as another type of floats.
Tensor multiplied(const Tensor& tensor, double factor, DataType element);

}  // namespace podium::ir
