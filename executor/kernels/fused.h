// Kernels of the ops that only the engine makes (domain "podium"), for the table in fused.cpp.
#pragma once

#include "executor/kernels/kernel.h"

namespace podium::kernels {

PreparedKernel prepare_fused_convolution(PrepareContext& context);
PreparedKernel prepare_fused_pool(PrepareContext& context);
PreparedKernel prepare_fused_matmul(PrepareContext& context);
PreparedKernel prepare_strided_matmul(PrepareContext& context);
PreparedKernel prepare_masked_softmax(PrepareContext& context);
PreparedKernel prepare_to_channels_last(PrepareContext& context);
PreparedKernel prepare_to_channels_first(PrepareContext& context);
PreparedKernel prepare_view(PrepareContext& context);

}  // namespace podium::kernels
