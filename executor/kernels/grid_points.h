// The positions of GridSample's points, and the elements whose weighted sum each point is.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "executor/kernels/resize.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {

enum class Padding { Zeros, Border, Reflection };

struct GridSample {
  ResizeMode mode = ResizeMode::Linear;
  Padding padding = Padding::Zeros;
  bool align_corners = false;
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t points = 1;  // of one image
  Dims input = {};          // spatial
  std::int64_t in_size = 1;

  std::int64_t taps() const { return mode == ResizeMode::Nearest ? 1 : mode == ResizeMode::Linear ? 2 : 4; }
  std::int64_t corners() const {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < input.size(); ++i) count *= taps();
    return count;
  }
};

/// `x` and `grid` are the shapes of both inputs. Attributes as GridSample has them.
GridSample read_grid_sample(const ir::TypedOp& op, const Dims& x, const Dims& grid);

/// The coordinates between which a point is inside; reflection is at these.
template <class C>
struct Border {
  C low = 0;
  C high = 0;
};

template <class C>
Border<C> border_of(const GridSample& op, std::size_t axis) {
  const C size = static_cast<C>(op.input[axis]);
  return op.align_corners ? Border<C>{C{0}, size - 1} : Border<C>{C(-0.5), size - C(0.5)};
}

/// A coordinate, and its derivative by the number it is computed from.
template <class C>
struct Coordinate {
  C at = 0;
  C slope = 1;
};

template <class C>
Coordinate<C> reflect(C x, const Border<C>& border) {
  const C length = border.high - border.low;
  if (!(length > 0)) return {border.low, 0};
  const C past = x < border.low ? border.low - x : x - border.high;
  if (!(past > 0)) return {x, 1};
  const C turns = std::floor(past / length);
  const C rest = past - turns * length;
  const bool from_low = (x < border.low) == (std::fmod(turns, C{2}) == 0);
  const C slope = (x < border.low) == from_low ? C{-1} : C{1};
  return {from_low ? border.low + rest : border.high - rest, slope};
}

/// Maps [-1, 1] to the elements of the axis and moves the coordinate inside as the padding mode says.
template <class C>
Coordinate<C> coordinate_of(const GridSample& op, std::size_t axis, C given) {
  const C size = static_cast<C>(op.input[axis]);
  const C scale = (op.align_corners ? size - 1 : size) / 2;
  C x = op.align_corners ? (given + 1) / 2 * (size - 1) : ((given + 1) * size - 1) / 2;
  if (op.mode == ResizeMode::Nearest) x = std::nearbyint(x);  // halves go to even numbers
  const Border<C> border = border_of<C>(op, axis);
  if (x >= border.low && x <= border.high) return {x, scale};
  if (op.padding == Padding::Border) return {std::clamp(x, C{0}, size - 1), 0};
  if (op.padding == Padding::Zeros) return {x, scale};
  const Coordinate<C> reflected = reflect(x, border);
  return {reflected.at, reflected.slope * scale};
}

/// The element at a whole coordinate, -1 for the zeros outside.
template <class C>
std::int64_t index_of(const GridSample& op, std::size_t axis, C at) {
  const C last = static_cast<C>(op.input[axis] - 1);
  if (at >= 0 && at <= last) return static_cast<std::int64_t>(at);
  if (op.padding == Padding::Zeros) return -1;
  if (op.padding == Padding::Reflection) at = std::trunc(reflect(at, border_of<C>(op, axis)).at);
  if (std::isnan(at)) return -1;  // as it was given, or as what is infinite is reflected
  return static_cast<std::int64_t>(std::clamp(at, C{0}, last));
}

template <class C>
C tap_weight(ResizeMode mode, C distance) {
  const C x = std::fabs(distance);
  if (mode == ResizeMode::Nearest) return C{1};
  if (mode == ResizeMode::Linear) return C{1} - x;
  const C a = C(-0.75);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

/// The derivative of the weight by the distance.
template <class C>
C tap_slope(ResizeMode mode, C distance) {
  if (mode == ResizeMode::Nearest) return C{0};
  const C sign = distance < 0 ? C{-1} : C{1};
  if (mode == ResizeMode::Linear) return -sign;
  const C x = std::fabs(distance);
  const C a = C(-0.75);
  if (x <= 1) return sign * (3 * (a + 2) * x - 2 * (a + 3)) * x;
  return sign * ((3 * a * x - 10 * a) * x + 8 * a);
}

/// A summand of one point; offset -1: a zero outside.
template <class C>
struct Corner {
  std::int64_t offset = 0;
  C weight = 1;
};

inline constexpr std::size_t kNoAxis = static_cast<std::size_t>(-1);

/// `given` has the last axis first. With `moving`, weights are the derivatives of the sum by the point's
/// coordinate along that axis.
template <class C>
void find_corners(const GridSample& op, const C* given, std::vector<Corner<C>>& corners,
                  std::size_t moving = kNoAxis) {
  const std::size_t rank = op.input.size();
  corners.assign(1, {});
  std::vector<Corner<C>> longer;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const Coordinate<C> x = coordinate_of(op, axis, given[rank - 1 - axis]);
    const C base =
        op.mode == ResizeMode::Nearest ? x.at : std::floor(x.at) - (op.mode == ResizeMode::Cubic ? 1 : 0);
    longer.clear();
    for (const Corner<C>& corner : corners) {
      for (std::int64_t k = 0; k < op.taps(); ++k) {
        const C at = base + static_cast<C>(k);
        const std::int64_t index = index_of(op, axis, at);
        const std::int64_t offset =
            index < 0 || corner.offset < 0 ? -1 : corner.offset * op.input[axis] + index;
        const C weight =
            axis == moving ? tap_slope(op.mode, x.at - at) * x.slope : tap_weight(op.mode, x.at - at);
        longer.push_back({offset, corner.weight * weight});
      }
    }
    corners.swap(longer);
  }
}

/// Calls use(image, point, its corners) for every point, side by side.
template <class C, class Use>
void for_each_point(const GridSample& op, const C* grid, const Use& use) {
  const auto rank = std::ssize(op.input);
  const std::int64_t cost = op.corners() * (op.channels + 4) + 16;
  parallel_ranges(op.batch * op.points, cost, [&](std::int64_t begin, std::int64_t end) {
    std::vector<Corner<C>> corners;
    for (std::int64_t i = begin; i < end; ++i) {
      find_corners(op, grid + i * rank, corners);
      use(i / op.points, i % op.points, corners);
    }
  });
}

}  // namespace podium::kernels
