#include <algorithm>

#include "executor/kernels/dispatch.h"
#include "executor/kernels/families.h"

namespace podium::kernels {
namespace {

PreparedKernel relu(PrepareContext& context) {
  return dispatch<float, double>(context.element(0), [](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [](const RunContext& run) {
      const T* x = run.input(0).data<T>();
      T* y = run.output(0).data<T>();
      const std::int64_t count = run.input(0).size();
      for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] > T{0} ? x[i] : T{0};
    };
  });
}

}  // namespace

std::span<const KernelSpec> unary_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Relu", .prepare = relu, .in_place = 1},
  };
  return kKernels;
}

}  // namespace podium::kernels
