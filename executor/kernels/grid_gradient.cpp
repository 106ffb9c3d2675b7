// GridSample backwards: to what it sampled, and to the points where it did.
#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/grid_points.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {
namespace {

// Channel by channel, so that no sum depends on the number of threads. The points of an image serve all
// channels.
template <class T, class C>
void spread_image(const GridSample& op, const C* grid, const T* flow, T* gradient,
                  std::vector<Corner<C>>& corners) {
  const auto rank = std::ssize(op.input);
  const std::int64_t of_point = op.corners();
  parallel_ranges(op.points, of_point * 8, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Corner<C>> found;
    for (std::int64_t point = begin; point < end; ++point) {
      find_corners(op, grid + point * rank, found);
      std::copy(found.begin(), found.end(), corners.begin() + point * of_point);
    }
  });
  parallel_ranges(op.channels, op.points * of_point * 2, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t channel = begin; channel < end; ++channel) {
      T* plane = gradient + channel * op.in_size;
      std::fill_n(plane, op.in_size, T{0});
      for (std::int64_t i = 0; i < op.points * of_point; ++i) {
        const Corner<C>& corner = corners[i];
        if (corner.offset < 0) continue;
        plane[corner.offset] += static_cast<T>(corner.weight) * flow[channel * op.points + i / of_point];
      }
    }
  });
}

PreparedKernel prepare_input_gradient(PrepareContext& context) {
  const GridSample op = read_grid_sample(context, context.output(0).dims, context.dims(0));
  return dispatch<float, double>(context.element(0), [&](auto point) {
    using C = decltype(point);
    return dispatch<float, double>(context.element(1), [&](auto tag) -> PreparedKernel {
      using T = decltype(tag);
      return [op](const RunContext& run) {
        std::vector<Corner<C>> corners(op.points * op.corners());
        const auto rank = std::ssize(op.input);
        for (std::int64_t image = 0; image < op.batch; ++image) {
          spread_image(op, run.input(0).data<C>() + image * op.points * rank,
                       run.input(1).data<T>() + image * op.channels * op.points,
                       run.output(0).data<T>() + image * op.channels * op.in_size, corners);
        }
      };
    });
  });
}

// How much the weighted sum of all channels grows when the point moves along one axis of X.
template <class T, class C>
C slope_of(const GridSample& op, const T* x, const T* flow, const std::vector<Corner<C>>& corners) {
  T sum = 0;
  for (std::int64_t channel = 0; channel < op.channels; ++channel) {
    const T* plane = x + channel * op.in_size;
    T slope = 0;
    for (const Corner<C>& corner : corners) {
      if (corner.offset >= 0) slope += static_cast<T>(corner.weight) * plane[corner.offset];
    }
    sum += slope * flow[channel * op.points];
  }
  return static_cast<C>(sum);
}

template <class T, class C>
void differentiate_points(const GridSample& op, const T* x, const C* grid, const T* flow, C* gradient) {
  const std::int64_t rank = std::ssize(op.input);
  const std::int64_t cost = op.corners() * (op.channels + 8) * rank;
  parallel_ranges(op.batch * op.points, cost, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Corner<C>> corners;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t image = i / op.points;
      const T* of_image = x + image * op.channels * op.in_size;
      const T* of_point = flow + image * op.channels * op.points + i % op.points;
      const std::int64_t first = i * rank;
      for (std::int64_t axis = 0; axis < rank; ++axis) {
        find_corners(op, grid + first, corners, axis);
        gradient[first + rank - 1 - axis] = slope_of(op, of_image, of_point, corners);
      }
    }
  });
}

PreparedKernel prepare_point_gradient(PrepareContext& context) {
  const GridSample op = read_grid_sample(context, context.dims(0), context.dims(1));
  return dispatch<float, double>(context.element(1), [&](auto point) {
    using C = decltype(point);
    return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
      using T = decltype(tag);
      return [op](const RunContext& run) {
        differentiate_points(op, run.input(0).data<T>(), run.input(1).data<C>(), run.input(2).data<T>(),
                             run.output(0).data<C>());
      };
    });
  });
}

}  // namespace

PreparedKernel prepare_grid_sample_input_gradient(PrepareContext& context) {
  return prepare_widened(context, prepare_input_gradient);
}

PreparedKernel prepare_grid_sample_grid_gradient(PrepareContext& context) {
  return prepare_widened(context, prepare_point_gradient);
}

}  // namespace podium::kernels
