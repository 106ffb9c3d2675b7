#include "executor/kernels/tools/add_up.h"

#include <algorithm>
#include <array>

#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

using ir::Tensor;

// Puts the pieces of all terms at one place together in `sums`. `Sum` is the type that elements of type T are
// added in.
template <class T, class Sum>
void add_piece(std::span<const Tensor* const> terms, Combine how, std::int64_t from, std::size_t size,
               Sum* sums) {
  const T* term = terms[0]->data<T>() + from;
#pragma omp simd
  for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(term[i]);
  for (std::size_t t = 1; t < terms.size(); ++t) {
    term = terms[t]->data<T>() + from;
    if (how == Combine::Largest) {
#pragma omp simd
      for (std::size_t i = 0; i < size; ++i) {
        const auto other = static_cast<Sum>(term[i]);
        // What is no number stays.
        sums[i] = sums[i] < other || other != other ? other : sums[i];
      }
      continue;
    }
#pragma omp simd
    for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(sums[i] + static_cast<Sum>(term[i]));
  }
  if (how != Combine::Mean) return;
  const auto divisor = static_cast<Sum>(terms.size());
#pragma omp simd
  for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(sums[i] / divisor);
}

// Term by term over pieces that stay in the nearest cache; none is of two rows.
template <class T, class Sum>
void add(std::span<const Tensor* const> terms, Combine how, const Stretch& stretch, Tensor& result) {
  constexpr std::int64_t kPiece = 2048;
  T* out = result.data<T>();
  const std::int64_t cost = terms.size() * sizeof(T);
  parallel_ranges(stretch.rows * stretch.count, cost, [&](std::int64_t begin, std::int64_t end) {
    std::array<Sum, kPiece> sums;
    while (begin < end) {
      const std::int64_t place = begin % stretch.count;
      const std::int64_t from = begin / stretch.count * stretch.row + stretch.first + place;
      const std::int64_t size = std::min({kPiece, end - begin, stretch.count - place});
      add_piece<T, Sum>(terms, how, from, size, sums.data());
      T* given = out + begin;
#pragma omp simd
      for (std::int64_t i = 0; i < size; ++i) given[i] = static_cast<T>(sums[i]);
      begin += size;
    }
  });
}

template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, ir::Float16> || std::is_same_v<T, ir::Bfloat16>;

}  // namespace

void add_up(std::span<const Tensor* const> terms, Combine how, const Stretch& stretch, Tensor& result) {
  dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(result.type(), [&](auto tag) {
    using T = decltype(tag);
    add<T, std::conditional_t<is_narrow_float<T>, float, T>>(terms, how, stretch, result);
    return true;
  });
}

void reduce(std::span<const Tensor* const> terms, Combine how, Tensor& result) {
  add_up(terms, how, {.count = result.size()}, result);
}

void reduce_part(std::span<const Tensor* const> terms, Combine how, std::int64_t axis, std::int64_t first,
                 Tensor& part) {
  const ir::Dims& whole = terms[0]->dims();
  const std::int64_t inner = count_of(whole, axis + 1, whole.size());
  add_up(terms, how,
         {.first = first * inner,
          .count = part.dims()[axis] * inner,
          .rows = count_of(whole, 0, axis),
          .row = whole[axis] * inner},
         part);
}

void gather(std::span<const Tensor* const> parts, std::int64_t axis, Tensor& whole) {
  const ir::Dims& dims = whole.dims();
  const std::int64_t rows = count_of(dims, 0, axis);
  const std::int64_t row = count_of(dims, axis, dims.size());
  std::int64_t first = 0;
  for (const Tensor* part : parts) {
    const std::int64_t of_part = count_of(part->dims(), axis, dims.size());
    StridedCopy(whole.type(), {{rows, of_part, row}, {of_part, 1, 1}})
        .run(part->raw(), element_at(whole.raw(), whole.type(), first));
    first += of_part;
  }
}

void gather_share(std::span<const Tensor* const> parts, std::int64_t axis, const Share& share,
                  Tensor& result) {
  const ir::Dims to = strides_of(result.dims());
  std::int64_t place = 0;
  for (const Tensor* part : parts) {
    const ir::Dims from = strides_of(part->dims());
    std::vector<MoveLoop> loops;
    for (std::size_t i = 0; i < from.size(); ++i) {
      const bool is_joined = static_cast<std::int64_t>(i) == axis;
      loops.push_back({is_joined ? part->dims()[i] : result.dims()[i], from[i], to[i]});
    }
    StridedCopy(result.type(), loops)
        .run(element_at(part->raw(), part->type(), share.first * from[share.axis]),
             element_at(result.raw(), result.type(), place * to[axis]));
    place += part->dims()[axis];
  }
}

}  // namespace podium::kernels
