// The families of kernels, mirroring ir/ops.
#pragma once

#include <span>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

using KernelFamily = std::span<const KernelSpec> (*)();

std::span<const KernelSpec> unary_kernels();
std::span<const KernelSpec> binary_kernels();
std::span<const KernelSpec> cast_kernels();
std::span<const KernelSpec> quantize_kernels();
std::span<const KernelSpec> shape_kernels();
std::span<const KernelSpec> slice_kernels();
std::span<const KernelSpec> gather_kernels();
std::span<const KernelSpec> pad_kernels();
std::span<const KernelSpec> order_kernels();
std::span<const KernelSpec> generate_kernels();
std::span<const KernelSpec> random_kernels();
std::span<const KernelSpec> sequence_kernels();
std::span<const KernelSpec> text_kernels();
std::span<const KernelSpec> conv_kernels();
std::span<const KernelSpec> pool_kernels();
std::span<const KernelSpec> norm_kernels();
std::span<const KernelSpec> softmax_kernels();
std::span<const KernelSpec> loss_kernels();
std::span<const KernelSpec> resize_kernels();
std::span<const KernelSpec> vision_kernels();
std::span<const KernelSpec> matmul_kernels();
std::span<const KernelSpec> reduce_kernels();
std::span<const KernelSpec> recurrent_kernels();
std::span<const KernelSpec> attention_kernels();
std::span<const KernelSpec> control_kernels();
std::span<const KernelSpec> signal_kernels();
std::span<const KernelSpec> training_kernels();
std::span<const KernelSpec> block_rounding_kernels();
std::span<const KernelSpec> ml_preprocess_kernels();
std::span<const KernelSpec> ml_linear_kernels();
std::span<const KernelSpec> ml_tree_kernels();
std::span<const KernelSpec> fused_kernels();
std::span<const KernelSpec> gradient_kernels();

/// All of them, in a fixed order.
std::span<const KernelFamily> kernel_families();

}  // namespace podium::kernels
