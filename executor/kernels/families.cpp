#include "executor/kernels/families.h"

#include <array>

namespace podium::kernels {

std::span<const KernelFamily> kernel_families() {
  static constexpr std::array kFamilies{
      unary_kernels,          binary_kernels,   cast_kernels,      quantize_kernels,
      shape_kernels,          slice_kernels,    gather_kernels,    pad_kernels,
      order_kernels,          generate_kernels, random_kernels,    sequence_kernels,
      text_kernels,           conv_kernels,     pool_kernels,      norm_kernels,
      softmax_kernels,        loss_kernels,     resize_kernels,    vision_kernels,
      matmul_kernels,         reduce_kernels,   recurrent_kernels, attention_kernels,
      control_kernels,        signal_kernels,   training_kernels,  ml_preprocess_kernels,
      ml_linear_kernels,      ml_tree_kernels,  fused_kernels,     gradient_kernels,
      block_rounding_kernels,
  };
  return kFamilies;
}

}  // namespace podium::kernels
