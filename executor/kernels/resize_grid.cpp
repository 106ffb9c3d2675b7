// GridSample looks at points that a grid names; AffineGrid makes such grids.
// for_each_point turns each grid point into corners, elements of a plane with weights, by mode and padding;
// sampling adds up weighted corners for every channel, or copies the one corner of mode nearest, by element
// size. Integers are sampled in double and cut. An affine grid is theta times (x, y[, z], 1) for evenly
// spread coordinates of each axis.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include "executor/kernels/grid_points.h"
#include "executor/kernels/resize.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/tools/widened.h"

namespace podium::kernels {

GridSample read_grid_sample(const ir::TypedOp& context, const Dims& x, const Dims& grid) {
  const std::string& mode = context.get_string("mode");
  const std::string& padding = context.get_string("padding_mode");
  GridSample op{.mode = mode == "nearest" ? ResizeMode::Nearest
                        : mode == "cubic" ? ResizeMode::Cubic
                                          : ResizeMode::Linear,
                .padding = padding == "border"       ? Padding::Border
                           : padding == "reflection" ? Padding::Reflection
                                                     : Padding::Zeros,
                .align_corners = context.get_int("align_corners") != 0,
                .batch = x[0],
                .channels = x[1],
                .points = count_of(grid, 1, grid.size() - 1),
                .input = Dims(x.begin() + 2, x.end())};
  op.in_size = ir::element_count(op.input);
  return op;
}

namespace {

template <class T, class C>
void sample_weighted(const GridSample& op, const T* x, const C* grid, T* y) {
  for_each_point(
      op, grid, [&](std::int64_t image, std::int64_t point, const std::vector<Corner<C>>& corners) {
        for (std::int64_t channel = image * op.channels; channel < (image + 1) * op.channels; ++channel) {
          const T* plane = x + channel * op.in_size;
          T sum = 0;
          for (const Corner<C>& corner : corners) {
            if (corner.offset >= 0) sum += static_cast<T>(corner.weight) * plane[corner.offset];
          }
          y[channel * op.points + point] = sum;
        }
      });
}

template <class Element, class C>
void sample_nearest(const GridSample& op, const Element* x, const C* grid, Element* y) {
  for_each_point(
      op, grid, [&](std::int64_t image, std::int64_t point, const std::vector<Corner<C>>& corners) {
        const std::int64_t offset = corners[0].offset;
        for (std::int64_t channel = image * op.channels; channel < (image + 1) * op.channels; ++channel) {
          y[channel * op.points + point] = offset < 0 ? Element{} : x[channel * op.in_size + offset];
        }
      });
}

struct GridBytes16 {
  std::uint64_t parts[2];
};

template <class Element, class C>
void sample_raw(const GridSample& op, const RunContext& run) {
  sample_nearest(op, static_cast<const Element*>(run.input(0).raw()), run.input(1).data<C>(),
                 static_cast<Element*>(run.output(0).raw()));
}

template <class C>
void move_nearest(const GridSample& op, const RunContext& run) {
  if (run.input(0).type() == DataType::String) return sample_raw<std::string, C>(op, run);
  switch (ir::storage_bytes(run.input(0).type())) {
    case 1:
      return sample_raw<std::uint8_t, C>(op, run);
    case 2:
      return sample_raw<std::uint16_t, C>(op, run);
    case 4:
      return sample_raw<std::uint32_t, C>(op, run);
    case 8:
      return sample_raw<std::uint64_t, C>(op, run);
    default:
      return sample_raw<GridBytes16, C>(op, run);
  }
}

// Integers are computed in double and cut to whole numbers in their range.
template <class Integer, class C>
void sample_integers(const GridSample& op, const RunContext& run) {
  const auto x = run.input(0).values<Integer>();
  const std::vector<double> wide(x.begin(), x.end());
  std::vector<double> result(run.output(0).size());
  sample_weighted(op, wide.data(), run.input(1).data<C>(), result.data());
  constexpr auto kLeast = static_cast<double>(std::numeric_limits<Integer>::lowest());
  constexpr auto kMost = static_cast<double>(std::numeric_limits<Integer>::max());
  std::transform(result.begin(), result.end(), run.output(0).data<Integer>(), [](double number) {
    const double whole = std::trunc(number);
    if (whole >= kMost) return std::numeric_limits<Integer>::max();
    return whole <= kLeast ? std::numeric_limits<Integer>::lowest() : static_cast<Integer>(whole);
  });
}

template <class C>
PreparedKernel prepare_sampling(const PrepareContext& context, const GridSample& op) {
  if (op.mode == ResizeMode::Nearest) return [op](const RunContext& run) { move_nearest<C>(op, run); };
  return dispatch<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                  std::uint16_t, std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        if constexpr (std::is_integral_v<T>) {
          return [op](const RunContext& run) { sample_integers<T, C>(op, run); };
        } else {
          return [op](const RunContext& run) {
            sample_weighted(op, run.input(0).data<T>(), run.input(1).data<C>(), run.output(0).data<T>());
          };
        }
      });
}

PreparedKernel prepare_by_grid(PrepareContext& context) {
  const GridSample op = read_grid_sample(context, context.dims(0), context.dims(1));
  if (op.in_size == 0 && context.output(0).element_count() > 0) {
    throw Error("the input has no elements to sample");
  }
  return dispatch<float, double>(context.element(1),
                                 [&](auto tag) { return prepare_sampling<decltype(tag)>(context, op); });
}

// Coordinates of the middles of `count` elements in [-1, 1], or from edge to edge.
template <class T>
std::vector<T> spread(std::int64_t count, bool align_corners) {
  std::vector<T> result;
  const double step = align_corners ? (count > 1 ? 2.0 / static_cast<double>(count - 1) : 0)
                                    : 2.0 / static_cast<double>(count);
  const double start = align_corners ? (count > 1 ? -1 : 0) : -1 + step / 2;
  for (std::int64_t i = 0; i < count; ++i) {
    result.push_back(static_cast<T>(start + step * static_cast<double>(i)));
  }
  return result;
}

// Grid points of every image, theta times (x, y[, z], 1).
template <class T>
void make_affine_grid(const T* theta, const Dims& grid, bool align_corners, T* y) {
  const Dims sizes(grid.begin() + 1, grid.end() - 1);
  const std::size_t rank = sizes.size();
  std::vector<std::vector<T>> along;
  for (std::int64_t size : sizes) along.push_back(spread<T>(size, align_corners));
  std::vector<T> point(rank);
  for (std::int64_t image = 0; image < grid[0]; ++image, theta += rank * (rank + 1)) {
    for (StridedWalk<1> walk(sizes, {Dims(rank, 0)}); walk.more(); walk.next()) {
      // The last axis of the image is the first coordinate.
      for (std::size_t i = 0; i < rank; ++i) {
        point[i] = along[rank - 1 - i][walk.index()[rank - 1 - i]];
      }
      for (std::size_t row = 0; row < rank; ++row) {
        T sum = theta[row * (rank + 1) + rank];
        for (std::size_t i = 0; i < rank; ++i) sum += theta[row * (rank + 1) + i] * point[i];
        *y++ = sum;
      }
    }
  }
}

}  // namespace

PreparedKernel prepare_grid_sample(PrepareContext& context) {
  return prepare_widened(context, prepare_by_grid);
}

PreparedKernel prepare_affine_grid(PrepareContext& context) {
  const bool align_corners = context.get_int("align_corners") != 0;
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [align_corners](const RunContext& run) {
      Tensor& grid = run.output(0);
      make_affine_grid(run.input(0).data<T>(), grid.dims(), align_corners, grid.data<T>());
    };
  });
}

}  // namespace podium::kernels
