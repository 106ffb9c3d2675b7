// SumPoolGradient and MaxPoolGradient: plane by plane, so that no sum depends on the number of threads.
// Windows of 2 x 2 side by side, which most small networks have, take one pass over pairs of rows: each
// element is in one window at most, so that nothing is added up and every element is written once.
#include <memory>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/pool_maxima.h"
#include "executor/kernels/pool_stage.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

struct PoolGradient {
  ir::Window window = {};
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
  PoolGradient op{.window = window,
                  .planes = x[0] * x[1],
                  .in_size = ir::element_count(window.input),
                  .out_size = ir::element_count(window.output),
                  .stages = pool_stages(window)};
  for (const PoolStage& stage : op.stages) {
    op.cost += stage.output_size() * (std::ssize(stage.taps) + 1);
  }
  return op;
}

bool are_pairs(const ir::Window& window) {
  const Dims ones{1, 1};
  const Dims twos{2, 2};
  const Dims zeros{0, 0};
  return window.kernel == twos && window.strides == twos && window.dilations == ones &&
         window.pads_begin == zeros && window.output == Dims{window.input[0] / 2, window.input[1] / 2};
}

// What flows into windows of 2 x 2 goes to the largest of each: a row of them, from two rows of X. Of equal
// numbers, and of several NaN, the first one counts; a NaN is larger than any number. Which one it is has a
// loop of its own, and each row of the gradient too: what a single loop does becomes branches.
template <class T>
void give_to_pairs(const T* upper, const T* lower, const T* flow, std::int64_t windows, T* to_upper,
                   T* to_lower, std::int32_t* largest) {
#pragma omp simd
  for (std::int64_t i = 0; i < windows; ++i) {
    const T second = upper[2 * i + 1];
    const T third = lower[2 * i];
    const T fourth = lower[2 * i + 1];
    T most = upper[2 * i];
    std::int32_t place = 0;
    const bool takes_second = second > most || (second != second && most == most);
    place = takes_second ? 1 : place;
    most = takes_second ? second : most;
    const bool takes_third = third > most || (third != third && most == most);
    place = takes_third ? 2 : place;
    most = takes_third ? third : most;
    const bool takes_fourth = fourth > most || (fourth != fourth && most == most);
    largest[i] = takes_fourth ? 3 : place;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < windows; ++i) {
    to_upper[2 * i] = largest[i] == 0 ? flow[i] : T{0};
    to_upper[2 * i + 1] = largest[i] == 1 ? flow[i] : T{0};
  }
#pragma omp simd
  for (std::int64_t i = 0; i < windows; ++i) {
    to_lower[2 * i] = largest[i] == 2 ? flow[i] : T{0};
    to_lower[2 * i + 1] = largest[i] == 3 ? flow[i] : T{0};
  }
}

// Planes one after the other. Rows are short and a vector loop's rest is slow, so that all rows but the last
// ones are taken for somewhat longer: what is written too much, later rows write over.
template <class T>
void give_to_pairs_of_planes(const Dims& size, std::int64_t planes, const T* x, const T* flow, T* gradient) {
  constexpr std::int64_t kVector = 8;
  const std::int64_t width = size[1];
  const std::int64_t pairs = size[0] / 2;
  const std::int64_t windows = width / 2;
  const std::int64_t longer = (windows + kVector - 1) / kVector * kVector;
  const std::int64_t end = planes * size[0] * width;
  const std::int64_t end_of_flow = planes * pairs * windows;
  std::vector<std::int32_t> largest(longer);
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    for (std::int64_t pair = 0; pair < pairs; ++pair) {
      const std::int64_t upper = (plane * size[0] + 2 * pair) * width;
      const std::int64_t lower = upper + width;
      const std::int64_t from = (plane * pairs + pair) * windows;
      const bool has_room = lower + 2 * longer <= end && from + longer <= end_of_flow;
      give_to_pairs(x + upper, x + lower, flow + from, has_room ? longer : windows, gradient + upper,
                    gradient + lower, largest.data());
      if (width % 2 != 0) gradient[lower - 1] = gradient[lower + width - 1] = T{0};
    }
    if (size[0] % 2 != 0) std::fill_n(gradient + ((plane + 1) * size[0] - 1) * width, width, T{0});
  }
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
  const bool is_in_pairs = are_pairs(op->window);
  check_places(op->in_size);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op, is_in_pairs](const RunContext& run) {
      const T* x = run.input(0).data<T>();
      const T* flow = run.input(1).data<T>();
      T* gradient = run.output(0).data<T>();
      parallel_ranges(op->planes, op->cost, [&](std::int64_t begin, std::int64_t end) {
        if (is_in_pairs) {
          give_to_pairs_of_planes(op->window.input, end - begin, x + begin * op->in_size,
                                  flow + begin * op->out_size, gradient + begin * op->in_size);
          return;
        }
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
