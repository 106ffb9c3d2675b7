#include "executor/kernels/tools/add_up.h"

#include <algorithm>
#include <array>

#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

using ir::Tensor;

// `Sum` is the type that terms of type T are added in. Term by term over pieces that stay in the nearest
// cache.
template <class T, class Sum>
void add(std::span<const Tensor* const> terms, bool mean, std::int64_t first, std::int64_t count,
         Tensor& result) {
  constexpr std::int64_t kPiece = 2048;
  T* out = result.data<T>();
  const auto divisor = static_cast<Sum>(terms.size());
  const std::int64_t cost = terms.size() * sizeof(T);
  parallel_ranges(count, cost, [&](std::int64_t begin, std::int64_t end) {
    std::array<Sum, kPiece> sums;
    for (std::int64_t piece = begin; piece < end; piece += kPiece) {
      const std::size_t size = std::min(kPiece, end - piece);
      const T* term = terms[0]->data<T>() + first + piece;
#pragma omp simd
      for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(term[i]);
      for (std::size_t t = 1; t < terms.size(); ++t) {
        term = terms[t]->data<T>() + first + piece;
#pragma omp simd
        for (std::size_t i = 0; i < size; ++i)
          sums[i] = static_cast<Sum>(sums[i] + static_cast<Sum>(term[i]));
      }
      if (mean) {
#pragma omp simd
        for (std::size_t i = 0; i < size; ++i) sums[i] = static_cast<Sum>(sums[i] / divisor);
      }
      T* given = out + piece;
#pragma omp simd
      for (std::size_t i = 0; i < size; ++i) given[i] = static_cast<T>(sums[i]);
    }
  });
}

template <class T>
constexpr bool is_narrow_float = std::is_same_v<T, ir::Float16> || std::is_same_v<T, ir::Bfloat16>;

}  // namespace

void add_up(std::span<const Tensor* const> terms, bool mean, std::int64_t first, std::int64_t count,
            Tensor& sum) {
  dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(sum.type(), [&](auto tag) {
    using T = decltype(tag);
    add<T, std::conditional_t<is_narrow_float<T>, float, T>>(terms, mean, first, count, sum);
    return true;
  });
}

}  // namespace podium::kernels
