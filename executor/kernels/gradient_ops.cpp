#include "executor/kernels/gradient_ops.h"

#include "executor/kernels/families.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {

std::span<const KernelSpec> gradient_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Cofactors", .prepare = widened<prepare_cofactors>, .domain = "podium"},
      {.name = "ConvWeightGradient", .prepare = widened<prepare_conv_weight_gradient>, .domain = "podium"},
      {.name = "GridSampleGridGradient", .prepare = prepare_grid_sample_grid_gradient, .domain = "podium"},
      {.name = "GridSampleInputGradient", .prepare = prepare_grid_sample_input_gradient, .domain = "podium"},
      {.name = "GRUGradient",
       .prepare = widened<prepare_gru_gradient>,
       .domain = "podium",
       .in_place = ir::kFirstInput},
      {.name = "LateGradient", .prepare = prepare_late_gradient, .domain = "podium"},
      {.name = "LSTMGradient",
       .prepare = widened<prepare_lstm_gradient>,
       .domain = "podium",
       .in_place = ir::kFirstInput},
      {.name = "MaxPoolGradient", .prepare = widened<prepare_max_pool_gradient>, .domain = "podium"},
      {.name = "MaxRoiPoolChoice", .prepare = widened<prepare_max_roi_pool_choice>, .domain = "podium"},
      {.name = "MaxRoiPoolGradient", .prepare = widened<prepare_max_roi_pool_gradient>, .domain = "podium"},
      {.name = "ResizeGradient", .prepare = prepare_resize_gradient, .domain = "podium"},
      {.name = "RNNGradient", .prepare = widened<prepare_rnn_gradient>, .domain = "podium"},
      {.name = "RoiAlignChoice", .prepare = widened<prepare_roi_align_choice>, .domain = "podium"},
      {.name = "RoiAlignGradient", .prepare = widened<prepare_roi_align_gradient>, .domain = "podium"},
      {.name = "SumPoolGradient", .prepare = widened<prepare_sum_pool_gradient>, .domain = "podium"},
  };
  return kKernels;
}

}  // namespace podium::kernels
