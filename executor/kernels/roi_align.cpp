// RoiAlign: a region is cut into bins, a bin is sampled on a grid of points, and a point is interpolated
// between four pixels. Samples of rows and of columns are made once per region, since a point's weights are
// their products. The mean of a bin adds up all samples; its maximum is, as ONNX defines it, the largest
// weighted pixel. The choice (pixels of another tensor at the places of the largest) and the gradient (added
// to the pixels) walk the same bins; regions overlap, so the gradient goes over them one after the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/vision.h"

namespace podium::kernels {
namespace {

// Of a bin along one dimension, however far a region reaches.
constexpr std::int64_t kMostSamples = std::int64_t{1} << 20;

// Where one sample falls between two pixels of a row or column.
template <class T>
struct Sample {
  std::int64_t low = 0;
  std::int64_t high = 0;
  T low_weight = 0;
  T high_weight = 0;

  bool is_outside() const { return low_weight == 0 && high_weight == 0; }
};

template <class T>
Sample<T> sample_at(T position, std::int64_t size) {
  if (!(position >= -1 && position <= static_cast<T>(size))) return {};  // outside: weighs nothing
  position = std::max(position, T{0});
  const auto low = static_cast<std::int64_t>(position);
  if (low >= size - 1) return {size - 1, size - 1, 1, 0};
  const T beyond = position - static_cast<T>(low);
  return {low, low + 1, 1 - beyond, beyond};
}

// The samples of one bin along one dimension. Those outside the image weigh nothing, so that the first of
// them stands for all: a region may reach a million times as far as the image does.
template <class T>
struct BinSamples {
  std::span<const Sample<T>> different = {};
  std::int64_t count = 0;
};

// How many samples the mean of a bin is of.
template <class T>
T samples_in(const BinSamples<T>& rows, const BinSamples<T>& columns) {
  return static_cast<T>(std::max<std::int64_t>(rows.count * columns.count, 1));
}

// The samples along one dimension: `bins` bins of `per_bin` samples each.
template <class T>
struct Samples {
  std::vector<Sample<T>> different;
  std::vector<std::size_t> ends;  // of each bin, in `different`
  std::int64_t per_bin = 0;

  Samples(T start, T length, std::int64_t bins, std::int64_t ratio, std::int64_t size) {
    const T bin = length / static_cast<T>(bins);
    const T wanted = std::clamp<T>(std::ceil(bin), 0, static_cast<T>(kMostSamples));
    per_bin = ratio > 0 ? ratio : static_cast<std::int64_t>(wanted);
    for (std::int64_t b = 0; b < bins; ++b) {
      bool has_outside = false;
      for (std::int64_t i = 0; i < per_bin; ++i) {
        const T inside = (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(per_bin);
        const Sample<T> sample = sample_at(start + static_cast<T>(b) * bin + inside, size);
        if (!sample.is_outside() || !has_outside) different.push_back(sample);
        has_outside = has_outside || sample.is_outside();
      }
      ends.push_back(different.size());
    }
  }
  BinSamples<T> of_bin(std::int64_t bin) const {
    const std::size_t begin = bin == 0 ? 0 : ends[bin - 1];
    return {std::span(different).subspan(begin, ends[bin] - begin), per_bin};
  }
};

struct RoiAlign {
  std::int64_t ratio = 0;
  float scale = 1;
  bool half_pixel = true;
  bool takes_max = false;

  template <class T, class Use>
  void for_each_bin(const Dims& x, const T* roi, std::int64_t batch, const Dims& y, const Use& use) const;
  template <class T>
  void align(const Tensor& x, const Tensor& rois, const std::int64_t* batches, const Tensor& of,
             Tensor& y) const;
  template <class T>
  void spread(const RunContext& run) const;
};

// A pixel of a sample, and its weight.
template <class T>
struct Pixel {
  std::int64_t index = 0;
  T weight = 0;
};

template <class T>
std::array<Pixel<T>, 4> pixels_of(std::int64_t width, const Sample<T>& row, const Sample<T>& column) {
  return {{{row.low * width + column.low, row.low_weight * column.low_weight},
           {row.low * width + column.high, row.low_weight * column.high_weight},
           {row.high * width + column.low, row.high_weight * column.low_weight},
           {row.high * width + column.high, row.high_weight * column.high_weight}}};
}

template <class T>
T mean_of_bin(const T* image, std::int64_t width, const BinSamples<T>& rows, const BinSamples<T>& columns) {
  T sum = 0;
  for (const Sample<T>& row : rows.different) {
    if (row.is_outside()) continue;
    for (const Sample<T>& column : columns.different) {
      if (column.is_outside()) continue;
      T here = 0;
      for (const Pixel<T>& pixel : pixels_of(width, row, column)) here += pixel.weight * image[pixel.index];
      sum += here;
    }
  }
  return sum / samples_in(rows, columns);
}

// ONNX takes the largest of the weighted pixels, not of their sums; of equal ones the first. Weight 0: no
// sample.
template <class T>
Pixel<T> largest_of_bin(const T* image, std::int64_t width, const BinSamples<T>& rows,
                        const BinSamples<T>& columns) {
  std::optional<Pixel<T>> largest;
  for (const Sample<T>& row : rows.different) {
    for (const Sample<T>& column : columns.different) {
      for (const Pixel<T>& pixel : pixels_of(width, row, column)) {
        const bool takes =
            !largest || pixel.weight * image[pixel.index] > largest->weight * image[largest->index];
        if (takes) largest = pixel;
      }
    }
  }
  return largest.value_or(Pixel<T>{});
}

// Calls use(plane of X, rows, columns) for each bin of one region, in the order of the output.
template <class T, class Use>
void RoiAlign::for_each_bin(const Dims& x, const T* roi, std::int64_t batch, const Dims& y,
                            const Use& use) const {
  const T shift = half_pixel ? T(0.5) : T(0);
  const T left = roi[0] * static_cast<T>(scale) - shift;
  const T top = roi[1] * static_cast<T>(scale) - shift;
  const T least = half_pixel ? -std::numeric_limits<T>::infinity() : T(1);
  const T roi_width = std::max(roi[2] * static_cast<T>(scale) - shift - left, least);
  const T roi_height = std::max(roi[3] * static_cast<T>(scale) - shift - top, least);
  const Samples<T> rows(top, roi_height, y[2], ratio, x[2]);
  const Samples<T> columns(left, roi_width, y[3], ratio, x[3]);
  for (std::int64_t c = 0; c < y[1]; ++c) {
    for (std::int64_t i = 0; i < y[2]; ++i) {
      for (std::int64_t j = 0; j < y[3]; ++j)
        use((batch * y[1] + c) * x[2] * x[3], rows.of_bin(i), columns.of_bin(j));
    }
  }
}

void check(const Tensor& x, const std::int64_t* batches, const Dims& y) {
  const bool has_bins = ir::element_count(y) > 0;
  if (has_bins && x.dim(2) * x.dim(3) == 0)
    throw Error("X has shape {}: there are no pixels", ir::to_string(x.dims()));
  for (std::int64_t n = 0; n < y[0]; ++n) {
    if (batches[n] < 0 || batches[n] >= x.dim(0)) {
      throw Error("batch_indices[{}] is {}, 0 to {} needed", n, batches[n], x.dim(0) - 1);
    }
  }
}

// In mode max, finds the largest pixels in x and reads the elements of `of` at their positions.
template <class T>
void RoiAlign::align(const Tensor& x, const Tensor& rois, const std::int64_t* batches, const Tensor& of,
                     Tensor& y) const {
  check(x, batches, y.dims());
  const std::int64_t size = y.dim(1) * y.dim(2) * y.dim(3);
  const std::int64_t width = x.dim(3);
  constexpr std::int64_t kSampleCost = 16;
  parallel_ranges(y.dim(0), size * kSampleCost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      T* out = y.data<T>() + n * size;
      for_each_bin(x.dims(), rois.data<T>() + n * 4, batches[n], y.dims(),
                   [&](std::int64_t plane, const auto& rows, const auto& columns) {
                     const T* image = x.data<T>() + plane;
                     if (takes_max) {
                       const Pixel<T> pixel = largest_of_bin(image, width, rows, columns);
                       *out++ = pixel.weight * of.data<T>()[plane + pixel.index];
                     } else {
                       *out++ = mean_of_bin(image, width, rows, columns);
                     }
                   });
    }
  });
}

// Regions overlap: one after the other.
template <class T>
void RoiAlign::spread(const RunContext& run) const {
  const Tensor& x = run.input(0);
  const std::int64_t* batches = run.input(2).data<std::int64_t>();
  const Dims& y = run.input(3).dims();
  check(x, batches, y);
  const T* flow = run.input(3).data<T>();
  T* gradient = run.output(0).data<T>();
  std::fill_n(gradient, run.output(0).size(), T{0});
  const std::int64_t width = x.dim(3);
  for (std::int64_t n = 0; n < y[0]; ++n) {
    for_each_bin(x.dims(), run.input(1).data<T>() + n * 4, batches[n], y,
                 [&](std::int64_t plane, const auto& rows, const auto& columns) {
                   const T from = *flow++;
                   if (takes_max) {
                     const Pixel<T> pixel = largest_of_bin(x.data<T>() + plane, width, rows, columns);
                     gradient[plane + pixel.index] += pixel.weight * from;
                     return;
                   }
                   const T share = from / samples_in(rows, columns);
                   for (const Sample<T>& row : rows.different) {
                     if (row.is_outside()) continue;
                     for (const Sample<T>& column : columns.different) {
                       if (column.is_outside()) continue;
                       for (const Pixel<T>& pixel : pixels_of(width, row, column)) {
                         gradient[plane + pixel.index] += pixel.weight * share;
                       }
                     }
                   }
                 });
  }
}

RoiAlign read_roi_align(const PrepareContext& context) {
  const std::string& mode = context.get_string("mode");
  const std::string& pixels = context.get_string("coordinate_transformation_mode");
  if (mode != "avg" && mode != "max") throw Error("mode is '{}', avg or max needed", mode);
  if (pixels != "half_pixel" && pixels != "output_half_pixel") {
    throw Error("coordinate_transformation_mode is '{}', half_pixel or output_half_pixel needed", pixels);
  }
  const RoiAlign plan{.ratio = context.get_int("sampling_ratio"),
                      .scale = context.get_float("spatial_scale"),
                      .half_pixel = pixels == "half_pixel",
                      .takes_max = mode == "max"};
  if (plan.ratio < 0 || plan.ratio > kMostSamples)
    throw Error("sampling_ratio is {}, 0 to {} needed", plan.ratio, kMostSamples);
  return plan;
}

}  // namespace

PreparedKernel roi_align(PrepareContext& context) {
  const RoiAlign plan = read_roi_align(context);
  const DataType type = context.element(0);
  if (type == DataType::Double) {
    return [plan](const RunContext& run) {
      plan.align<double>(run.input(0), run.input(1), run.input(2).data<std::int64_t>(), run.input(0),
                         run.output(0));
    };
  }
  return [plan, type](const RunContext& run) {
    const std::int64_t* batches = run.input(2).data<std::int64_t>();
    Tensor& y = run.output(0);
    const Tensor& x = run.input(0);
    if (type == DataType::Float) return plan.align<float>(x, run.input(1), batches, x, y);
    Tensor wide(DataType::Float, y.dims());
    const Tensor wide_x = as_float(x);
    plan.align<float>(wide_x, as_float(run.input(1)), batches, wide_x, wide);
    from_float(wide.data<float>(), y, 0, y.size());
  };
}

PreparedKernel prepare_roi_align_choice(PrepareContext& context) {
  const RoiAlign plan = read_roi_align(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    return [plan](const RunContext& run) {
      plan.align<decltype(tag)>(run.input(0), run.input(1), run.input(2).data<std::int64_t>(), run.input(3),
                                run.output(0));
    };
  });
}

PreparedKernel prepare_roi_align_gradient(PrepareContext& context) {
  const RoiAlign plan = read_roi_align(context);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    return [plan](const RunContext& run) { plan.spread<decltype(tag)>(run); };
  });
}

}  // namespace podium::kernels
