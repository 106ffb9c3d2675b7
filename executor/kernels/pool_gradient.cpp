// SumPoolGradient and MaxPoolGradient: plane by plane, so that no sum depends on the number of threads.
#include <memory>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/pool_maxima.h"
#include "executor/kernels/pool_stage.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

struct PoolGradient {
  std::int64_t planes = 0;
  std::int64_t in_size = 0;   // elements of a plane of X
  std::int64_t out_size = 0;  // and of what flows
  std::vector<PoolStage> stages = {};
  std::int64_t cost = 0;  // operations a plane
};

PoolGradient plan(const PrepareContext& context, std::size_t flow) {
  const Dims& x = context.output(0).dims;
  const Dims& y = context.dims(flow);
  const ir::Window window = ir::given_window(context, {x.begin() + 2, x.end()}, {y.begin() + 2, y.end()});
  PoolGradient op{.planes = x[0] * x[1],
                  .in_size = ir::element_count(window.input),
                  .out_size = ir::element_count(window.output),
                  .stages = pool_stages(window)};
  for (const PoolStage& stage : op.stages) {
    op.cost += stage.output_size() * (std::ssize(stage.taps) + 1);
  }
  return op;
}

// The pass backwards: from [outer, output, inner] to [outer, input, inner].
template <class T>
void spread_stage(const PoolStage& stage, const T* flow, T* gradient) {
  std::fill_n(gradient, stage.outer * stage.input * stage.inner, T{0});
  for (std::int64_t outer = 0; outer < stage.outer; ++outer) {
    for (const ir::Tap& tap : stage.taps) {
      for (std::int64_t o = tap.begin; o < tap.end; ++o) {
        const T* from = flow + (outer * stage.output + o) * stage.inner;
        T* to = gradient + (outer * stage.input + o * stage.stride + tap.shift) * stage.inner;
        for (std::int64_t i = 0; i < stage.inner; ++i) to[i] += from[i];
      }
    }
  }
}

template <class T>
void spread_plane(const PoolGradient& op, const T* flow, T* gradient, std::vector<T> (&buffers)[2]) {
  for (std::size_t s = op.stages.size(); s-- > 0;) {
    const PoolStage& stage = op.stages[s];
    std::vector<T>& buffer = buffers[s % 2];
    buffer.resize(stage.outer * stage.input * stage.inner);
    T* to = s == 0 ? gradient : buffer.data();
    spread_stage(stage, flow, to);
    flow = to;
  }
}

}  // namespace

PreparedKernel prepare_sum_pool_gradient(PrepareContext& context) {
  const auto op = std::make_shared<const PoolGradient>(plan(context, 0));
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) {
      const T* flow = run.input(0).data<T>();
      T* gradient = run.output(0).data<T>();
      parallel_ranges(op->planes, op->cost, [&](std::int64_t begin, std::int64_t end) {
        std::vector<T> buffers[2];
        for (std::int64_t plane = begin; plane < end; ++plane) {
          spread_plane(*op, flow + plane * op->out_size, gradient + plane * op->in_size, buffers);
        }
      });
    };
  });
}

PreparedKernel prepare_max_pool_gradient(PrepareContext& context) {
  const auto op = std::make_shared<const PoolGradient>(plan(context, 1));
  check_places(op->in_size);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) {
      const T* x = run.input(0).data<T>();
      const T* flow = run.input(1).data<T>();
      T* gradient = run.output(0).data<T>();
      parallel_ranges(op->planes, op->cost, [&](std::int64_t begin, std::int64_t end) {
        MaximumFinder<T> finder(op->stages, op->in_size);
        for (std::int64_t plane = begin; plane < end; ++plane) {
          T* to = gradient + plane * op->in_size;
          std::fill_n(to, op->in_size, T{0});
          const T* from = flow + plane * op->out_size;
          for (const Place place : finder.find(x + plane * op->in_size).places) {
            if (place != kNowhere) to[place] += *from;
            ++from;
          }
        }
      });
    };
  });
}

}  // namespace podium::kernels
