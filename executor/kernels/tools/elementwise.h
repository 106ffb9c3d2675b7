// Kernels that compute each element of the output from the element of the same index, for the float types:
// float and double natively, half and bfloat16 in float by blocks.
#pragma once

#include <algorithm>

#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {

/// The cost of an element for parallel_ranges: threads are worth starting from 32768 elements on.
inline constexpr std::int64_t kElementCost = 2;
/// Elements converted at a time: in and out fit the first-level cache.
inline constexpr std::int64_t kBlock = 1024;

template <class T>
inline constexpr bool is_narrow_float = std::is_same_v<T, ir::Float16> || std::is_same_v<T, ir::Bfloat16>;

/// y[i] = f(x[i]). x and y are the same or do not overlap.
template <class In, class Out, class F>
void map_elements(const In* x, Out* y, std::int64_t count, const F& f) {
  if constexpr (is_narrow_float<In>) {
    float wide_x[kBlock];
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t size = std::min(kBlock, count - first);
      to_float(x + first, wide_x, size);
      if constexpr (is_narrow_float<Out>) {
        map_elements(wide_x, wide_x, size, f);
        from_float(wide_x, y + first, size);
      } else {
        map_elements(wide_x, y + first, size, f);
      }
    }
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) y[i] = static_cast<Out>(f(x[i]));
  }
}

/// Output 0 = f(input 0), elementwise, natively or through float.
template <class In, class Out, class F>
PreparedKernel map_kernel(F f) {
  return [f](const RunContext& run) {
    const In* x = run.input(0).data<In>();
    Out* y = run.output(0).data<Out>();
    parallel_ranges(run.input(0).size(), kElementCost, [&](std::int64_t begin, std::int64_t end) {
      map_elements(x + begin, y + begin, end - begin, f);
    });
  };
}

/// Output 0 = f(input 0) for any float type of input 0; f is generic over float and double.
template <class F>
PreparedKernel float_kernel(PrepareContext& context, F f) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16>(
      context.element(0), [&](auto tag) { return map_kernel<decltype(tag), decltype(tag)>(f); });
}

/// The row of an op that has no attributes: f is a lambda without captures.
template <class F>
KernelSpec float_row(std::string_view name, F /*f*/) {
  return {.name = name,
          .prepare = [](PrepareContext& context) { return float_kernel(context, F{}); },
          .in_place = 1};
}

}  // namespace podium::kernels
