// Kernels that compute each element of the output from stretched operands.
#pragma once

#include <algorithm>

#include "executor/kernels/tools/broadcast_plan.h"
#include "executor/kernels/tools/elementwise.h"

namespace podium::kernels {

/// Calls body(output offset, operand offsets, count) for rows or parts of rows, on every thread when it is
/// worth it.
template <class Body>
void for_each_row(const BroadcastPlan& plan, const Body& body) {
  parallel_ranges(plan.rows * plan.row, kElementCost, [&](std::int64_t begin, std::int64_t end) {
    BroadcastPosition position(plan, begin / plan.row);
    std::int64_t skipped = begin % plan.row;
    while (begin < end) {
      const std::int64_t count = std::min(plan.row - skipped, end - begin);
      Offsets offsets = position.offsets();
      for (std::size_t i = 0; i < kMostOperands; ++i) offsets[i] += skipped * plan.steps[i];
      body(begin, offsets, count);
      begin += count;
      skipped = 0;
      if (begin < end) position.next_row();
    }
  });
}

/// out[i] = f(a[i * step_a], b[i * step_b]); steps are 0 or 1. out may be the operand that goes along.
template <class T, class Out, class F>
void combine_row(const T* a, std::int64_t step_a, const T* b, std::int64_t step_b, Out* out,
                 std::int64_t count, const F& f) {
  if constexpr (is_narrow_float<T>) {
    float wide_a[kBlock];
    float wide_b[kBlock];
    for (std::int64_t first = 0; first < count; first += kBlock) {
      const std::int64_t size = std::min(kBlock, count - first);
      to_float(a + first * step_a, wide_a, step_a == 0 ? 1 : size);
      to_float(b + first * step_b, wide_b, step_b == 0 ? 1 : size);
      if constexpr (is_narrow_float<Out>) {
        float wide[kBlock];
        combine_row(wide_a, step_a, wide_b, step_b, wide, size, f);
        from_float(wide, out + first, size);
      } else {
        combine_row(wide_a, step_a, wide_b, step_b, out + first, size, f);
      }
    }
  } else if (step_b == 0) {
    const T right = *b;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(f(a[i * step_a], right));
  } else if (step_a == 0) {
    const T left = *a;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(f(left, b[i]));
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<Out>(f(a[i], b[i]));
  }
}

/// Output = f(a, b) under a plan of two operands.
template <class T, class Out, class F>
void combine(const BroadcastPlan& plan, const T* a, const T* b, Out* out, const F& f) {
  for_each_row(plan, [&](std::int64_t at, const Offsets& offsets, std::int64_t count) {
    combine_row(a + offsets[0], plan.steps[0], b + offsets[1], plan.steps[1], out + at, count, f);
  });
}

/// The plan of output 0 of an op whose operands are inputs 0 and 1.
inline BroadcastPlan plan_of_two(const PrepareContext& context) {
  const Dims output = ir::broadcast(context.dims(0), context.dims(1));
  return plan_broadcast(output, std::array{&context.dims(0), &context.dims(1)});
}

/// Output 0 = f(input 0, input 1), for elements that are T or have the size of T, where only bits count.
template <class T, class Out, class F>
PreparedKernel combine_kernel(const PrepareContext& context, F f) {
  return [plan = plan_of_two(context), f](const RunContext& run) {
    combine(plan, static_cast<const T*>(run.input(0).raw()), static_cast<const T*>(run.input(1).raw()),
            static_cast<Out*>(run.output(0).raw()), f);
  };
}

}  // namespace podium::kernels
