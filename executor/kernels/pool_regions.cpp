// MaxUnpool puts maxima back where they were; MaxRoiPool pools regions of interest.
// MaxUnpool's indices count in the shape that was pooled; where the output has another shape they are taken
// apart and put together again. MaxRoiPool rounds a region's corners to whole pixels, shares it among bins
// that may overlap by a pixel, and takes the largest element of each. Its choice (elements of another tensor
// at those places) and its gradient (added at those places) walk the same bins.
#include <algorithm>
#include <cmath>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/pool.h"
#include "executor/kernels/tools/dispatch.h"
#include "ir/ops/window.h"

namespace podium::kernels {
namespace {

// Where element `index` of a tensor of shape `from` lies in one of shape `to`; -1 when it is cut off.
std::int64_t moved_index(std::int64_t index, const Dims& from, const Dims& to) {
  std::int64_t result = 0;
  std::int64_t stride = 1;
  for (std::size_t axis = from.size(); axis-- > 0;) {
    const std::int64_t at = index % from[axis];
    index /= from[axis];
    if (at >= to[axis]) return -1;
    result += at * stride;
    stride *= to[axis];
  }
  return result;
}

template <class T>
void unpool(const RunContext& run, const Dims& pooled_from) {
  const auto x = run.input(0).values<T>();
  const auto indices = run.input(1).values<std::int64_t>();
  Tensor& output = run.output(0);
  const std::int64_t limit = ir::element_count(pooled_from);
  const bool same_shape = output.dims() == pooled_from;
  std::fill_n(output.data<T>(), output.size(), T{0});
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::int64_t index = indices[i];
    if (index < 0 || index >= limit) {
      throw Error("index {} is not within {}", index, ir::to_string(pooled_from));
    }
    const std::int64_t at = same_shape ? index : moved_index(index, pooled_from, output.dims());
    if (at >= 0) output.data<T>()[at] = x[i];
  }
}

struct RoiPool {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t pooled_height = 0;
  std::int64_t pooled_width = 0;
  double scale = 1;

  std::int64_t plane_size() const { return height * width; }
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Bin `index` of `bins` that share [first, last], cut to [0, size).
template <class T>
Range bin_range(T first, T last, std::int64_t index, std::int64_t bins, std::int64_t size) {
  const T length = std::max(last - first + T{1}, T{1}) / static_cast<T>(bins);
  const T begin = std::floor(static_cast<T>(index) * length) + first;
  const T end = std::ceil(static_cast<T>(index + 1) * length) + first;
  // Of corners that are so far apart that their distance is infinite, a place is no number.
  const auto place = [&](T at) {
    return at > 0 ? static_cast<std::int64_t>(std::min(at, static_cast<T>(size))) : std::int64_t{0};
  };
  return {place(begin), place(end)};
}

// Where the largest element is, of equal ones the first; -1 of no element.
template <class T>
std::int64_t largest_in(const T* plane, std::int64_t width, Range rows, Range columns) {
  if (rows.begin >= rows.end || columns.begin >= columns.end) return -1;
  std::int64_t most = rows.begin * width + columns.begin;
  for (std::int64_t h = rows.begin; h < rows.end; ++h) {
    for (std::int64_t w = columns.begin; w < columns.end; ++w) {
      if (plane[most] < plane[h * width + w]) most = h * width + w;
    }
  }
  return most;
}

// Calls use(plane, place) for each bin of one region: where its largest element is in which plane of X, -1
// when the bin is empty. A region is its batch index, x and y of its first corner, x and y of its last.
template <class T, class Use>
void for_each_bin(const RoiPool& pool, const T* x, const T* region, const Use& use) {
  // Compared as numbers: infinity fits no integer.
  const auto named = static_cast<double>(region[0]);
  if (!(named >= 0 && named < static_cast<double>(pool.batch)))
    throw Error("a region is of image {}, there are {}", named, pool.batch);
  const auto image = static_cast<std::int64_t>(named);
  T corners[4];
  for (int i = 0; i < 4; ++i) {
    corners[i] = std::round(region[i + 1] * static_cast<T>(pool.scale));
    if (!std::isfinite(corners[i]))
      throw Error("a corner of a region is at {}, a finite number needed", static_cast<double>(corners[i]));
  }
  for (std::int64_t plane = image * pool.channels; plane < (image + 1) * pool.channels; ++plane) {
    const T* from = x + plane * pool.plane_size();
    for (std::int64_t h = 0; h < pool.pooled_height; ++h) {
      const Range rows = bin_range(corners[1], corners[3], h, pool.pooled_height, pool.height);
      for (std::int64_t w = 0; w < pool.pooled_width; ++w) {
        const Range columns = bin_range(corners[0], corners[2], w, pool.pooled_width, pool.width);
        use(plane, largest_in(from, pool.width, rows, columns));
      }
    }
  }
}

RoiPool read_roi_pool(const PrepareContext& context) {
  const Dims& x = context.dims(0);
  const auto& pooled = context.get<ir::IntList>("pooled_shape");
  return {
      x[0], x[1], x[2], x[3], pooled[0], pooled[1], static_cast<double>(context.get_float("spatial_scale"))};
}

}  // namespace

PreparedKernel prepare_max_unpool(PrepareContext& context) {
  const Dims pooled_from = ir::unpooled_dims(context, context.dims(0));
  if (context.dims(1) != context.dims(0)) {
    throw Error("indices have shape {}, {} needed", ir::to_string(context.dims(1)),
                ir::to_string(context.dims(0)));
  }
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [pooled_from](const RunContext& run) { unpool<T>(run, pooled_from); };
  });
}

namespace {

// Elements of input `from` at the places of the largest of each bin.
PreparedKernel choose_in_bins(const PrepareContext& context, std::size_t from) {
  const RoiPool pool = read_roi_pool(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [pool, from](const RunContext& run) {
      const T* given = run.input(from).data<T>();
      T* y = run.output(0).data<T>();
      for (std::int64_t i = 0; i < run.input(1).dim(0); ++i) {
        for_each_bin(pool, run.input(0).data<T>(), run.input(1).data<T>() + i * 5,
                     [&](std::int64_t plane, std::int64_t place) {
                       *y++ = place < 0 ? T{0} : given[plane * pool.plane_size() + place];
                     });
      }
    };
  });
}

}  // namespace

PreparedKernel prepare_max_roi_pool(PrepareContext& context) { return choose_in_bins(context, 0); }

PreparedKernel prepare_max_roi_pool_choice(PrepareContext& context) { return choose_in_bins(context, 2); }

PreparedKernel prepare_max_roi_pool_gradient(PrepareContext& context) {
  const RoiPool pool = read_roi_pool(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [pool](const RunContext& run) {
      const T* flow = run.input(2).data<T>();
      T* gradient = run.output(0).data<T>();
      std::fill_n(gradient, run.output(0).size(), T{0});
      for (std::int64_t i = 0; i < run.input(1).dim(0); ++i) {
        for_each_bin(pool, run.input(0).data<T>(), run.input(1).data<T>() + i * 5,
                     [&](std::int64_t plane, std::int64_t place) {
                       if (place >= 0) gradient[plane * pool.plane_size() + place] += *flow;
                       ++flow;
                     });
      }
    };
  });
}

}  // namespace podium::kernels
