// Kernels of the ops that only gradient builders make (domain "podium"), for the table in gradient_ops.cpp.
// Kernels of Resize and GridSample are prepared for every float type, the others for float and double.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

PreparedKernel prepare_cofactors(PrepareContext& context);
PreparedKernel prepare_conv_weight_gradient(PrepareContext& context);
PreparedKernel prepare_grid_sample_grid_gradient(PrepareContext& context);
PreparedKernel prepare_grid_sample_input_gradient(PrepareContext& context);
PreparedKernel prepare_gru_gradient(PrepareContext& context);
PreparedKernel prepare_late_gradient(PrepareContext& context);
PreparedKernel prepare_lstm_gradient(PrepareContext& context);
PreparedKernel prepare_max_pool_gradient(PrepareContext& context);
PreparedKernel prepare_max_roi_pool_choice(PrepareContext& context);
PreparedKernel prepare_max_roi_pool_gradient(PrepareContext& context);
PreparedKernel prepare_resize_gradient(PrepareContext& context);
PreparedKernel prepare_rnn_gradient(PrepareContext& context);
PreparedKernel prepare_roi_align_choice(PrepareContext& context);
PreparedKernel prepare_roi_align_gradient(PrepareContext& context);
PreparedKernel prepare_sum_pool_gradient(PrepareContext& context);

}  // namespace podium::kernels
