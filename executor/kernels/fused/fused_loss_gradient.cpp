#include "executor/kernels/fused/fused.h"
#include "executor/kernels/softmax.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {

// dX = flow * (1 at the label - softmax(X)), row by row. A label that is no class has none.
PreparedKernel prepare_cross_entropy_gradient(PrepareContext& context) {
  const std::int64_t rows = context.dims(0)[0];
  const std::int64_t classes = context.dims(0)[1];
  const std::int64_t step = context.input(2).element_count() == 1 ? 0 : 1;  // from one row's flow to the next
  return [=](const RunContext& run) {
    constexpr std::int64_t kCost = 12;
    const float* x = run.input(0).data<float>();
    const std::int64_t* labels = run.input(1).data<std::int64_t>();
    const float* flow = run.input(2).data<float>();
    float* y = run.output(0).data<float>();
    parallel_ranges(rows, classes * kCost, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t n = begin; n < end; ++n) {
        const float* from = x + n * classes;
        float* to = y + n * classes;
        const float of_row = flow[n * step];
        const float sum = exponentials_of_row(from, to, classes, largest_of_row(from, classes));
        const float factor = -of_row / sum;
        for (std::int64_t c = 0; c < classes; ++c) to[c] *= factor;
        if (labels[n] >= 0 && labels[n] < classes) to[labels[n]] += of_row;
      }
    });
  };
}

}  // namespace podium::kernels
