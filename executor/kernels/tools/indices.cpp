#include "executor/kernels/tools/indices.h"

#include <algorithm>

#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/tools/unit.h"

namespace podium::kernels {
namespace {

template <class Use>
void with_indices(const Tensor& indices, Use&& use) {
  if (indices.type() == DataType::Int32) return use(indices.data<std::int32_t>());
  use(indices.data<std::int64_t>());
}

inline std::int64_t checked(std::int64_t index, std::int64_t limit) {
  const std::int64_t from_start = index < 0 ? index + limit : index;
  if (from_start < 0 || from_start >= limit) {
    throw Error("index {} is outside [{}, {}]", index, -limit, limit - 1);
  }
  return from_start;
}

}  // namespace

void read_indices(const Tensor& indices, std::int64_t limit, std::int64_t* out) {
  with_indices(indices, [&](const auto* index) {
    for (std::int64_t i = 0; i < indices.size(); ++i) out[i] = checked(index[i], limit);
  });
}

void element_offsets(const Tensor& indices, const Dims& data, std::size_t axis, std::int64_t* out) {
  if (indices.size() == 0) return;
  Dims strides = strides_of(data);
  const std::int64_t limit = data[axis];
  const std::int64_t step = strides[axis];
  const bool along_last = axis + 1 == data.size();
  strides[axis] = 0;
  strides.pop_back();
  const Dims rows(indices.dims().begin(), indices.dims().end() - 1);
  const std::int64_t columns = indices.dims().back();
  with_indices(indices, [&](const auto* index) {
    for (StridedWalk<1> walk(rows, {strides}); walk.more(); walk.next()) {
      for (std::int64_t i = 0; i < columns; ++i) {
        out[i] = walk.offset(0) + checked(index[i], limit) * step + (along_last ? 0 : i);
      }
      index += columns;
      out += columns;
    }
  });
}

void row_offsets(const Tensor& indices, const Dims& data, std::size_t batch_dims, std::int64_t* out) {
  const std::size_t length = indices.dims().back();
  const std::int64_t batches = count_of(data, 0, batch_dims);
  const std::int64_t rows = count_of(indices.dims(), batch_dims, indices.dims().size() - 1);
  const std::int64_t batch_step = count_of(data, batch_dims, data.size());
  const Dims strides = strides_of(data);
  with_indices(indices, [&](const auto* index) {
    for (std::int64_t batch = 0; batch < batches; ++batch) {
      for (std::int64_t row = 0; row < rows; ++row, index += length) {
        std::int64_t offset = batch * batch_step;
        for (std::size_t k = 0; k < length; ++k) {
          offset += checked(index[k], data[batch_dims + k]) * strides[batch_dims + k];
        }
        *out++ = offset;
      }
    }
  });
}

void gather_blocks(DataType type, const void* from, void* to, std::int64_t outer, std::int64_t limit,
                   std::int64_t block, std::span<const std::int64_t> indices) {
  with_block(type, block, [&](auto move, std::int64_t bytes) {
    const std::int64_t count = std::ssize(indices);
    parallel_ranges(outer * count, bytes, [&](std::int64_t begin, std::int64_t end) {
      auto* target = static_cast<std::byte*>(to) + begin * bytes;
      for (std::int64_t at = begin; at < end;) {
        const auto* source = static_cast<const std::byte*>(from) + at / count * limit * bytes;
        const std::int64_t first = at % count;
        const std::int64_t last = std::min(count, first + end - at);
        for (std::int64_t i = first; i < last; ++i, target += bytes)
          move(source + indices[i] * bytes, target);
        at += last - first;
      }
    });
  });
}

}  // namespace podium::kernels
