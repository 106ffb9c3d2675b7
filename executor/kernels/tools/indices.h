// From tensors of indices to offsets of elements, checked.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// Reads indices as numbers in [0, limit); negative ones count from the end. Error when one is outside.
void read_indices(const Tensor& indices, std::int64_t limit, std::int64_t* out);

/// For each element of `indices`, the offset of the element of `data` that it names: the position is the same
/// but for `axis`, where it is the index.
void element_offsets(const Tensor& indices, const Dims& data, std::size_t axis, std::int64_t* out);

/// For each row of `indices` (along its last axis), the offset in `data` of the block with that index. The
/// first `batch_dims` axes are common to both.
void row_offsets(const Tensor& indices, const Dims& data, std::size_t batch_dims, std::int64_t* out);

/// Gathers in each of `outer` parts, which have `limit` blocks of `block` elements, the blocks that `indices`
/// lists.
void gather_blocks(DataType type, const void* from, void* to, std::int64_t outer, std::int64_t limit,
                   std::int64_t block, std::span<const std::int64_t> indices);

}  // namespace podium::kernels
