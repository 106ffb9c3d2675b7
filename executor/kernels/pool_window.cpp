// AveragePool and LpPool: sums over windows; MaxPool: maxima, and where they were.
#include <cmath>
#include <limits>
#include <memory>

#include "executor/kernels/dispatch.h"
#include "executor/kernels/parallel.h"
#include "executor/kernels/pool.h"
#include "executor/kernels/pool_stage.h"

namespace podium::kernels {
namespace {

// What every plane has in common.
struct Planes {
  std::int64_t count = 0;
  std::int64_t in_size = 0;
  std::int64_t out_size = 0;
  std::int64_t cost = 0;  // operations a plane
  ir::Window window = {};
  std::vector<PoolStage> stages = {};
};

Planes planes_of(const PrepareContext& context, bool innermost_first = false) {
  const Dims& x = context.dims(0);
  Planes planes{.count = x[0] * x[1], .window = ir::pool_window(context, x)};
  planes.in_size = ir::element_count(planes.window.input);
  planes.out_size = ir::element_count(planes.window.output);
  planes.stages = pool_stages(planes.window, innermost_first);
  for (const PoolStage& stage : planes.stages) {
    planes.cost += stage.output_size() * static_cast<std::int64_t>(stage.taps.size() + 1);
  }
  return planes;
}

// Per output of a plane, what its sum is divided by.
template <class T>
std::vector<T> divisors(const ir::Window& window, bool with_padding) {
  std::vector<T> result{T{1}};
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    std::vector<T> longer;
    for (T before : result) {
      for (std::int64_t count : seen_counts(window, axis, with_padding)) {
        longer.push_back(before * static_cast<T>(count));
      }
    }
    result = std::move(longer);
  }
  return result;
}

template <class T>
PreparedKernel average_pool(const Planes& planes, bool with_padding) {
  const auto divisor = std::make_shared<const std::vector<T>>(divisors<T>(planes.window, with_padding));
  return [planes, divisor](const RunContext& run) {
    const T* x = run.input(0).data<T>();
    T* y = run.output(0).data<T>();
    parallel_ranges(planes.count, planes.cost, [&](std::int64_t begin, std::int64_t end) {
      StageBuffers<T> buffers(planes.stages);
      for (std::int64_t plane = begin; plane < end; ++plane) {
        T* out = y + plane * planes.out_size;
        run_stages(planes.stages, buffers, x + plane * planes.in_size, out, T{0},
                   [](T a, T b) { return a + b; });
        const T* by = divisor->data();
        for (std::int64_t i = 0; i < planes.out_size; ++i) out[i] /= by[i];
      }
    });
  };
}

template <class T>
void to_powers(const T* x, T* y, std::int64_t count, std::int64_t p) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T size = std::fabs(x[i]);
    y[i] = p == 1 ? size : p == 2 ? size * size : static_cast<T>(std::pow(size, static_cast<T>(p)));
  }
}

template <class T>
void to_roots(T* y, std::int64_t count, std::int64_t p) {
  if (p == 1) return;
  for (std::int64_t i = 0; i < count; ++i) {
    y[i] = p == 2 ? std::sqrt(y[i]) : static_cast<T>(std::pow(y[i], T{1} / static_cast<T>(p)));
  }
}

template <class T>
PreparedKernel lp_pool(const Planes& planes, std::int64_t p) {
  return [planes, p](const RunContext& run) {
    const T* x = run.input(0).data<T>();
    T* y = run.output(0).data<T>();
    parallel_ranges(planes.count, planes.cost, [&](std::int64_t begin, std::int64_t end) {
      StageBuffers<T> buffers(planes.stages);
      std::vector<T> powers(static_cast<std::size_t>(planes.in_size));
      for (std::int64_t plane = begin; plane < end; ++plane) {
        T* out = y + plane * planes.out_size;
        to_powers(x + plane * planes.in_size, powers.data(), planes.in_size, p);
        run_stages(planes.stages, buffers, powers.data(), out, T{0}, [](T a, T b) { return a + b; });
        to_roots(out, planes.out_size, p);
      }
    });
  };
}

template <class T>
constexpr T least_of() {
  return std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                              : std::numeric_limits<T>::lowest();
}

template <class T>
PreparedKernel max_pool(const Planes& planes) {
  return [planes](const RunContext& run) {
    const T* x = run.input(0).data<T>();
    T* y = run.output(0).data<T>();
    parallel_ranges(planes.count, planes.cost, [&](std::int64_t begin, std::int64_t end) {
      StageBuffers<T> buffers(planes.stages);
      for (std::int64_t plane = begin; plane < end; ++plane) {
        run_stages(planes.stages, buffers, x + plane * planes.in_size, y + plane * planes.out_size,
                   least_of<T>(), [](T a, T b) { return b > a ? b : a; });
      }
    });
  };
}

// A number and its index in the plane; -1: none yet.
template <class T>
struct Labelled {
  T value;
  std::int64_t label;
};

// What Indices says of each element of a plane.
std::vector<std::int64_t> labels_of(const Dims& sizes, bool column_major) {
  const auto count = static_cast<std::size_t>(ir::element_count(sizes));
  std::vector<std::int64_t> labels(count, 0);
  std::int64_t column_stride = 1;
  std::int64_t inner = static_cast<std::int64_t>(count);
  for (std::int64_t size : sizes) {
    inner /= std::max<std::int64_t>(size, 1);
    const std::int64_t stride = column_major ? column_stride : inner;
    for (std::size_t i = 0; i < count; ++i) labels[i] += static_cast<std::int64_t>(i) / inner % size * stride;
    column_stride *= size;
  }
  return labels;
}

// The innermost axis goes first and only a larger number displaces one, so the first of equal maxima stays.
template <class T>
PreparedKernel max_pool_with_indices(const Planes& planes, bool column_major) {
  const auto labels =
      std::make_shared<const std::vector<std::int64_t>>(labels_of(planes.window.input, column_major));
  return [planes, labels](const RunContext& run) {
    const T* x = run.input(0).data<T>();
    T* y = run.output(0).data<T>();
    std::int64_t* indices = run.output(1).data<std::int64_t>();
    parallel_ranges(planes.count, planes.cost, [&](std::int64_t begin, std::int64_t end) {
      StageBuffers<Labelled<T>> buffers(planes.stages);
      std::vector<Labelled<T>> in(labels->size());
      std::vector<Labelled<T>> out(static_cast<std::size_t>(planes.out_size));
      for (std::int64_t plane = begin; plane < end; ++plane) {
        const std::int64_t first = plane * planes.in_size;
        for (std::size_t i = 0; i < in.size(); ++i) {
          in[i] = {x[first + static_cast<std::int64_t>(i)], (*labels)[i]};
        }
        run_stages(planes.stages, buffers, in.data(), out.data(), Labelled<T>{least_of<T>(), -1},
                   [](const Labelled<T>& a, const Labelled<T>& b) {
                     return b.label >= 0 && (a.label < 0 || b.value > a.value) ? b : a;
                   });
        for (std::size_t i = 0; i < out.size(); ++i) {
          const std::int64_t at = plane * planes.out_size + static_cast<std::int64_t>(i);
          y[at] = out[i].value;
          indices[at] = out[i].label < 0 ? -1 : first + out[i].label;
        }
      }
    });
  };
}

}  // namespace

PreparedKernel prepare_average_pool(PrepareContext& context) {
  const Planes planes = planes_of(context);
  const bool with_padding = context.get_int("count_include_pad") != 0;
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    return average_pool<decltype(tag)>(planes, with_padding);
  });
}

PreparedKernel prepare_lp_pool(PrepareContext& context) {
  const Planes planes = planes_of(context);
  const std::int64_t p = context.get_int("p");
  if (p < 1) throw Error("p is {}, at least 1 needed", p);
  return dispatch<float, double>(
      context.element(0), [&](auto tag) -> PreparedKernel { return lp_pool<decltype(tag)>(planes, p); });
}

PreparedKernel prepare_max_pool(PrepareContext& context) {
  const bool with_indices = context.has_output(1);
  const bool column_major = context.get_int("storage_order") != 0;
  const Planes planes = planes_of(context, with_indices);
  return dispatch<float, double, std::int8_t, std::uint8_t>(
      context.element(0), [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        return with_indices ? max_pool_with_indices<T>(planes, column_major) : max_pool<T>(planes);
      });
}

}  // namespace podium::kernels
