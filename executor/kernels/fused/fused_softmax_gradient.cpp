#include "executor/kernels/fused/fused.h"
#include "executor/kernels/tools/moments.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {

// dX = y (flow - sum of flow y along the row), which may lie where either of them does.
PreparedKernel prepare_softmax_gradient(PrepareContext& context) {
  const std::int64_t count = context.dims(0).back();
  const std::int64_t rows = context.input(0).element_count() / count;
  return [=](const RunContext& run) {
    constexpr std::int64_t kCost = 4;
    const float* y = run.input(0).data<float>();
    const float* flow = run.input(1).data<float>();
    float* to = run.output(0).data<float>();
    parallel_ranges(rows, count * kCost, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t first = begin * count; first < end * count; first += count) {
        const float along = sum_of_products(y + first, flow + first, count, 0.0F);
        for (std::int64_t i = first; i < first + count; ++i) to[i] = y[i] * (flow[i] - along);
      }
    });
  };
}

}  // namespace podium::kernels
