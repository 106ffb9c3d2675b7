#include "executor/kernels/fused/fused.h"

#include <algorithm>
#include <array>

#include "executor/kernels/families.h"
#include "executor/kernels/norm.h"

namespace podium::kernels {

bool stands_for_body(const ir::Op& op) {
  return op.is("Chain", "podium") || op.is("DepthwiseBlock", "podium");
}

bool has_own_copy(const ir::Op& op, std::size_t input) {
  if (op.is("DepthwiseBlock", "podium")) {
    const ir::Graph& body = *ir::attribute<ir::Body>(op, "body");
    return std::ranges::any_of(body.ops,
                               [&](const ir::Op& member) { return member.inputs[1] == body.inputs[input]; });
  }
  if (op.is("QLinearMatMul")) return input == 3;
  constexpr std::array<std::string_view, 6> kPackers{"Convolution", "ByteConvolution", "Patches",
                                                     "MatMul",      "ByteMatMul",      "DequantizedMatMul"};
  return input == 1 && (op.is("MatMulInteger") || std::ranges::any_of(kPackers, [&](std::string_view name) {
                          return op.is(name, "podium");
                        }));
}

bool may_take_memory(const ir::Op& op, std::size_t output, std::size_t input) {
  if (op.is("Chain", "podium"))
    return chain_may_take_memory(*ir::attribute<ir::Body>(op, "body"), output, input);
  return output == 0 && ir::has_input(find_kernel(op.spec->domain, op.spec->name)->in_place, input);
}

std::span<const KernelSpec> fused_kernels() {
  // Input 3 is the residual that a product or convolution is added to.
  constexpr unsigned kResidual = 1U << 3;
  static const std::vector<KernelSpec> kKernels{
      {.name = "Convolution",
       .prepare = prepare_fused_convolution,
       .domain = "podium",
       .in_place = kResidual},
      {.name = "ByteConvolution", .prepare = prepare_byte_convolution, .domain = "podium"},
      {.name = "ByteMatMul", .prepare = prepare_byte_matmul, .domain = "podium"},
      {.name = "DepthwiseBlock", .prepare = prepare_depthwise_block, .domain = "podium"},
      {.name = "Patches", .prepare = prepare_patches, .domain = "podium"},
      {.name = "Pool", .prepare = prepare_fused_pool, .domain = "podium"},
      {.name = "MatMul", .prepare = prepare_fused_matmul, .domain = "podium", .in_place = kResidual},
      {.name = "DequantizedMatMul", .prepare = prepare_dequantized_matmul, .domain = "podium"},
      {.name = "StridedMatMul", .prepare = prepare_strided_matmul, .domain = "podium"},
      {.name = "GroupNormalization", .prepare = prepare_group_norm_last, .domain = "podium", .in_place = 1U},
      {.name = "StridedAttention", .prepare = prepare_strided_attention, .domain = "podium"},
      {.name = "MaskedSoftmax", .prepare = prepare_masked_softmax, .domain = "podium", .in_place = 1U},
      {.name = "ToChannelsLast", .prepare = prepare_to_channels_last, .domain = "podium"},
      {.name = "ToChannelsFirst", .prepare = prepare_to_channels_first, .domain = "podium"},
      {.name = "SoftmaxGradient",
       .prepare = prepare_softmax_gradient,
       .domain = "podium",
       .in_place = 0b11},
      {.name = "CrossEntropyGradient",
       .prepare = prepare_cross_entropy_gradient,
       .domain = "podium",
       .in_place = 1U},
      {.name = "BatchNormalizationGradient",
       .prepare = prepare_batch_normalization_gradient,
       .domain = "podium",
       .in_place = 0b11},
      {.name = "LayerNormalizationGradient",
       .prepare = prepare_layer_normalization_gradient,
       .domain = "podium",
       .in_place = 0b11},
      {.name = "GroupNormalizationGradient",
       .prepare = prepare_group_normalization_gradient,
       .domain = "podium",
       .in_place = 0b11},
      {.name = "Chain", .prepare = prepare_chain, .domain = "podium"},
      {.name = "View", .prepare = prepare_view, .domain = "podium", .in_place = 1U},
  };
  return kKernels;
}

}  // namespace podium::kernels
