#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "executor/kernels/convert.h"
#include "executor/kernels/parallel.h"
#include "executor/kernels/vision.h"

namespace podium::kernels {
namespace {

// Where one sample falls between two pixels of a row or column.
template <class T>
struct Sample {
  std::int64_t low = 0;
  std::int64_t high = 0;
  T low_weight = 0;
  T high_weight = 0;
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

// The samples along one dimension: `bins` bins of `per_bin` samples each.
template <class T>
struct Samples {
  std::vector<Sample<T>> all;
  std::int64_t per_bin = 0;

  Samples(T start, T length, std::int64_t bins, std::int64_t ratio, std::int64_t size) {
    const T bin = length / static_cast<T>(bins);
    // The number of samples is bounded by the pixels a region can meet, however far it reaches.
    const T wanted = std::clamp<T>(std::ceil(bin), 0, static_cast<T>(1 << 20));
    per_bin = ratio > 0 ? ratio : static_cast<std::int64_t>(wanted);
    all.reserve(static_cast<std::size_t>(bins * per_bin));
    for (std::int64_t b = 0; b < bins; ++b) {
      for (std::int64_t i = 0; i < per_bin; ++i) {
        const T inside = (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(per_bin);
        all.push_back(sample_at(start + static_cast<T>(b) * bin + inside, size));
      }
    }
  }
  std::span<const Sample<T>> of_bin(std::int64_t bin) const {
    return std::span(all).subspan(static_cast<std::size_t>(bin * per_bin), static_cast<std::size_t>(per_bin));
  }
};

struct RoiAlign {
  std::int64_t ratio = 0;
  float scale = 1;
  bool half_pixel = true;
  bool takes_max = false;

  template <class T>
  T pool(const T* image, std::int64_t width, std::span<const Sample<T>> rows, std::span<const Sample<T>> columns) const;
  template <class T>
  void align_one(const Tensor& x, const T* roi, std::int64_t batch, const Dims& y, T* out) const;
  template <class T>
  void align(const Tensor& x, const Tensor& rois, const std::int64_t* batches, Tensor& y) const;
};

template <class T>
T RoiAlign::pool(const T* image, std::int64_t width, std::span<const Sample<T>> rows,
                 std::span<const Sample<T>> columns) const {
  T sum = 0;
  std::optional<T> largest;
  for (const Sample<T>& row : rows) {
    const T* low = image + row.low * width;
    const T* high = image + row.high * width;
    for (const Sample<T>& column : columns) {
      const T a = row.low_weight * column.low_weight * low[column.low];
      const T b = row.low_weight * column.high_weight * low[column.high];
      const T c = row.high_weight * column.low_weight * high[column.low];
      const T d = row.high_weight * column.high_weight * high[column.high];
      sum += a + b + c + d;
      // ONNX takes the largest of the weighted pixels, not of their sums.
      const T here = std::max(std::max(a, b), std::max(c, d));
      largest = largest ? std::max(*largest, here) : here;
    }
  }
  if (takes_max) return largest.value_or(0);
  return sum / static_cast<T>(std::max<std::size_t>(rows.size() * columns.size(), 1));
}

template <class T>
void RoiAlign::align_one(const Tensor& x, const T* roi, std::int64_t batch, const Dims& y, T* out) const {
  const std::int64_t height = x.dim(2);
  const std::int64_t width = x.dim(3);
  const T shift = half_pixel ? T(0.5) : T(0);
  const T left = roi[0] * static_cast<T>(scale) - shift;
  const T top = roi[1] * static_cast<T>(scale) - shift;
  const T least = half_pixel ? -std::numeric_limits<T>::infinity() : T(1);
  const T roi_width = std::max(roi[2] * static_cast<T>(scale) - shift - left, least);
  const T roi_height = std::max(roi[3] * static_cast<T>(scale) - shift - top, least);
  const Samples<T> rows(top, roi_height, y[2], ratio, height);
  const Samples<T> columns(left, roi_width, y[3], ratio, width);
  for (std::int64_t c = 0; c < y[1]; ++c) {
    const T* image = x.data<T>() + (batch * y[1] + c) * height * width;
    for (std::int64_t i = 0; i < y[2]; ++i) {
      for (std::int64_t j = 0; j < y[3]; ++j) *out++ = pool(image, width, rows.of_bin(i), columns.of_bin(j));
    }
  }
}

template <class T>
void RoiAlign::align(const Tensor& x, const Tensor& rois, const std::int64_t* batches, Tensor& y) const {
  if (y.size() > 0 && x.dim(2) * x.dim(3) == 0) throw Error("X has shape {}: there are no pixels", ir::to_string(x.dims()));
  for (std::int64_t n = 0; n < y.dim(0); ++n) {
    if (batches[n] < 0 || batches[n] >= x.dim(0)) {
      throw Error("batch_indices[{}] is {}, 0 to {} needed", n, batches[n], x.dim(0) - 1);
    }
  }
  const std::int64_t size = y.dim(1) * y.dim(2) * y.dim(3);
  const T* from = rois.data<T>();
  T* to = y.data<T>();
  constexpr std::int64_t kSampleCost = 16;
  parallel_ranges(y.dim(0), size * kSampleCost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) align_one(x, from + n * 4, batches[n], y.dims(), to + n * size);
  });
}

}  // namespace

PreparedKernel roi_align(PrepareContext& context) {
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
  if (plan.ratio < 0) throw Error("sampling_ratio is {}, 0 or more needed", plan.ratio);
  const DataType type = context.element(0);
  if (type == DataType::Double) {
    return [plan](const RunContext& run) {
      plan.align<double>(run.input(0), run.input(1), run.input(2).data<std::int64_t>(), run.output(0));
    };
  }
  return [plan, type](const RunContext& run) {
    const std::int64_t* batches = run.input(2).data<std::int64_t>();
    Tensor& y = run.output(0);
    if (type == DataType::Float) return plan.align<float>(run.input(0), run.input(1), batches, y);
    Tensor wide(DataType::Float, y.dims());
    plan.align<float>(as_float(run.input(0)), as_float(run.input(1)), batches, wide);
    from_float(wide.data<float>(), y, 0, y.size());
  };
}

}  // namespace podium::kernels
