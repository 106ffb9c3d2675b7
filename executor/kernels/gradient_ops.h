// Kernels of the ops that only gradient builders make (domain "podium"), for the table in gradient_ops.cpp.
// Prepared for float and double.
#pragma once

#include "executor/kernels/kernel.h"

namespace podium::kernels {

PreparedKernel prepare_conv_weight_gradient(PrepareContext& context);
PreparedKernel prepare_max_pool_gradient(PrepareContext& context);
PreparedKernel prepare_sum_pool_gradient(PrepareContext& context);

}  // namespace podium::kernels
