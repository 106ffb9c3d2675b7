// Bulk conversion between float and the element types that have no arithmetic of their own.
// Kernels that compute half or bfloat16 tensors in float use it; each number is rounded once, to nearest
// even.
#pragma once

#include <cstdint>

#include "ir/tensor.h"

namespace podium::kernels {

void to_float(const ir::Float16* from, float* to, std::int64_t count);
void to_float(const ir::Bfloat16* from, float* to, std::int64_t count);
void from_float(const float* from, ir::Float16* to, std::int64_t count);
void from_float(const float* from, ir::Bfloat16* to, std::int64_t count);

/// Converts elements [first, first + count) of a tensor of any float type (double and 8- and 4-bit floats
/// too), of integers or bool to floats.
void to_float(const ir::Tensor& from, std::int64_t first, std::int64_t count, float* to);
/// Converts floats to elements [first, first + count) of a tensor of any float type.
void from_float(const float* from, ir::Tensor& to, std::int64_t first, std::int64_t count);

/// A float tensor with the numbers of a float, integer or bool tensor; shares the memory of a float tensor.
ir::Tensor as_float(const ir::Tensor& tensor);

}  // namespace podium::kernels
