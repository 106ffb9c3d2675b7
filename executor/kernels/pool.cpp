#include "executor/kernels/pool.h"

#include <algorithm>
#include <cmath>

#include "executor/kernels/families.h"
#include "executor/kernels/reduce_core.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {
namespace {

template <class T>
T mean_of(const T* x, std::int64_t count, std::int64_t /*p*/) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += x[i];
  return sum / static_cast<T>(count);
}

template <class T>
T maximum_of(const T* x, std::int64_t count, std::int64_t /*p*/) {
  return reduce_run<Choosing<T, true>>(x, count);
}

template <class T>
T norm_of(const T* x, std::int64_t count, std::int64_t p) {
  T sum = 0;
  if (p == 2) {
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) sum += x[i] * x[i];
    return std::sqrt(sum);
  }
  for (std::int64_t i = 0; i < count; ++i) sum += std::pow(std::fabs(x[i]), static_cast<T>(p));
  return std::pow(sum, T{1} / static_cast<T>(p));
}

// One number from each channel of each image.
template <class Reduce>
PreparedKernel global_pool(PrepareContext& context, std::int64_t p, const Reduce& reduce) {
  const Dims& x = context.dims(0);
  const std::int64_t planes = x[0] * x[1];
  const std::int64_t size = ir::element_count(Dims(x.begin() + 2, x.end()));
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [planes, size, p, reduce](const RunContext& run) {
      const T* from = run.input(0).data<T>();
      T* to = run.output(0).data<T>();
      parallel_ranges(planes, size, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = begin; plane < end; ++plane) {
          to[plane] = reduce(from + plane * size, size, p);
        }
      });
    };
  });
}

PreparedKernel prepare_global_average_pool(PrepareContext& context) {
  return global_pool(context, 0,
                     [](const auto* x, std::int64_t count, std::int64_t p) { return mean_of(x, count, p); });
}

PreparedKernel prepare_global_max_pool(PrepareContext& context) {
  return global_pool(
      context, 0, [](const auto* x, std::int64_t count, std::int64_t p) { return maximum_of(x, count, p); });
}

PreparedKernel prepare_global_lp_pool(PrepareContext& context) {
  const std::int64_t p = context.get_int("p");
  if (p < 1) throw Error("p is {}, at least 1 needed", p);
  return global_pool(context, p, [](const auto* x, std::int64_t count, std::int64_t power) {
    return norm_of(x, count, power);
  });
}

}  // namespace

std::span<const KernelSpec> pool_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "AveragePool", .prepare = widened<prepare_average_pool>},
      {.name = "LpPool", .prepare = widened<prepare_lp_pool>},
      {.name = "MaxPool", .prepare = widened<prepare_max_pool>},
      {.name = "GlobalAveragePool", .prepare = widened<prepare_global_average_pool>},
      {.name = "GlobalMaxPool", .prepare = widened<prepare_global_max_pool>},
      {.name = "GlobalLpPool", .prepare = widened<prepare_global_lp_pool>},
      {.name = "MaxUnpool", .prepare = widened<prepare_max_unpool>},
      {.name = "MaxRoiPool", .prepare = widened<prepare_max_roi_pool>},
  };
  return kKernels;
}

}  // namespace podium::kernels
