#include "ir/ops/families.h"

#include <array>

namespace podium::ir {

std::span<const OpFamily> op_families() {
  static constexpr std::array kFamilies{
      unary_ops,   binary_ops,   cast_ops,     quantize_ops,      shape_ops,     slice_ops,
      gather_ops,  pad_ops,      order_ops,    generate_ops,      random_ops,    sequence_ops,
      text_ops,    conv_ops,     pool_ops,     norm_ops,          softmax_ops,   loss_ops,
      resize_ops,  vision_ops,   matmul_ops,   reduce_ops,        recurrent_ops, attention_ops,
      control_ops, signal_ops,   training_ops, ml_preprocess_ops, ml_linear_ops, ml_tree_ops,
      fused_ops,   gradient_ops,
  };
  return kFamilies;
}

}  // namespace podium::ir
