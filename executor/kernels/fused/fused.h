// Kernels of the ops that only the engine makes (domain "podium"), for the table in fused.cpp.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// True of an op that one kernel computes in place of the ops in its body, which no engine runs.
bool stands_for_body(const ir::Op& op);

/// True when the prepared kernel of `op` no longer reads input `input`: it has packed a copy of its own.
bool has_own_copy(const ir::Op& op, std::size_t input);

/// Whether the output may be written over the input, when both have the same size and no later op reads the
/// input. KernelSpec::in_place tells this for most ops.
bool may_take_memory(const ir::Op& op, std::size_t output, std::size_t input);
bool chain_may_take_memory(const ir::Graph& body, std::size_t output, std::size_t input);

/// Elements that a Chain computes at a time.
inline constexpr std::int64_t kChainPiece = 2048;

PreparedKernel prepare_chain(PrepareContext& context);
PreparedKernel prepare_fused_convolution(PrepareContext& context);
PreparedKernel prepare_byte_convolution(PrepareContext& context);
PreparedKernel prepare_byte_matmul(PrepareContext& context);
PreparedKernel prepare_depthwise_block(PrepareContext& context);
PreparedKernel prepare_patches(PrepareContext& context);
PreparedKernel prepare_fused_pool(PrepareContext& context);
PreparedKernel prepare_fused_matmul(PrepareContext& context);
PreparedKernel prepare_dequantized_matmul(PrepareContext& context);
PreparedKernel prepare_strided_matmul(PrepareContext& context);
PreparedKernel prepare_masked_softmax(PrepareContext& context);
PreparedKernel prepare_strided_attention(PrepareContext& context);
PreparedKernel prepare_cross_entropy_gradient(PrepareContext& context);
PreparedKernel prepare_softmax_gradient(PrepareContext& context);
PreparedKernel prepare_group_norm_last(PrepareContext& context);
PreparedKernel prepare_to_channels_last(PrepareContext& context);
PreparedKernel prepare_to_channels_first(PrepareContext& context);
PreparedKernel prepare_view(PrepareContext& context);

}  // namespace podium::kernels
