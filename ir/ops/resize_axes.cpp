#include "ir/ops/resize_axes.h"

#include <algorithm>
#include <cmath>

namespace podium::ir {

namespace {

std::int64_t whole_size(double size) {
  constexpr double kMost = 0x1p46;  // more than any machine holds
  if (!(size < kMost)) throw Error("an axis of {} elements is wanted, at most {} needed", size, kMost);
  return static_cast<std::int64_t>(size);
}

void scale_axes(std::vector<ResizedAxis>& result, const Dims& axes, const Tensor& scales) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const float scale = scales.data<float>()[i];
    if (!(scale > 0) || !std::isfinite(scale)) throw Error("scale {} is not a positive number", scale);
    ResizedAxis& axis = result[axes[i]];
    axis.scale = static_cast<double>(scale);
    if (axis.input == kUnknown) {
      axis.output = kUnknown;
    } else {
      axis.output = whole_size(std::floor(static_cast<float>(axis.input) * scale));
    }
  }
}

// The one scale for all axes with which none is larger (or smaller) than asked for.
void keep_aspect_ratio(std::vector<ResizedAxis>& result, const Dims& axes, bool not_larger) {
  bool is_known = true;
  double scale = not_larger ? INFINITY : 0;
  for (std::int64_t i : axes) {
    const ResizedAxis& axis = result[i];
    is_known = is_known && axis.input != kUnknown;
    scale = not_larger ? std::min(scale, axis.scale) : std::max(scale, axis.scale);
  }
  for (std::int64_t i : axes) {
    ResizedAxis& axis = result[i];
    axis.scale = scale;
    axis.output = is_known ? whole_size(std::floor(scale * static_cast<double>(axis.input) + 0.5)) : kUnknown;
  }
}

void size_axes(std::vector<ResizedAxis>& result, const Dims& axes, std::string_view policy,
               const Tensor& sizes) {
  const Dims wanted = sizes.to_ints();
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (wanted[i] < 0) throw Error("sizes are {}, none may be negative", to_string(wanted));
    ResizedAxis& axis = result[axes[i]];
    axis.output = wanted[i];
    axis.scale = static_cast<double>(axis.output) / static_cast<double>(axis.input);
  }
  if (policy == "stretch") return;
  if (policy != "not_larger" && policy != "not_smaller") {
    throw Error("keep_aspect_ratio_policy is '{}', it must be stretch, not_larger or not_smaller", policy);
  }
  keep_aspect_ratio(result, axes, policy == "not_larger");
}

}  // namespace

std::vector<ResizedAxis> resized_axes(const Dims& x, const Dims& axes,
                                      std::string_view keep_aspect_ratio_policy, const Tensor* scales,
                                      const Tensor* sizes) {
  std::vector<ResizedAxis> result;
  for (std::int64_t size : x) result.push_back({size, size, 1.0});
  const Tensor& given = scales != nullptr ? *scales : *sizes;
  if (given.rank() != 1 || given.size() != std::ssize(axes)) {
    throw Error("{} have shape {}, [{}] needed", scales != nullptr ? "scales" : "sizes",
                to_string(given.dims()), axes.size());
  }
  if (scales != nullptr) {
    scale_axes(result, axes, *scales);
  } else {
    size_axes(result, axes, keep_aspect_ratio_policy, *sizes);
  }
  for (const ResizedAxis& axis : result) {
    if (axis.input == 0 && axis.output > 0) throw Error("an empty axis cannot be resized to {}", axis.output);
  }
  return result;
}

}  // namespace podium::ir
