// Where Resize looks along one axis and with which weights, as ONNX defines it.
// For each output index: the point of the input by one of ONNX's seven rules for coordinates, then either the
// nearest element by one of four roundings, or taps around the point with linear or cubic weights (Keys'
// cubic with coefficient a). Antialiasing widens the kernel by the factor of shrinking; excluded taps weigh 0
// and the rest is scaled up. Beyond the edges lie copies of the edge.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "executor/kernels/resize.h"

namespace podium::kernels {
namespace {

ResizeMode mode_named(const std::string& name) {
  return name == "linear" ? ResizeMode::Linear : name == "cubic" ? ResizeMode::Cubic : ResizeMode::Nearest;
}

NearestMode nearest_named(const std::string& name) {
  if (name == "floor") return NearestMode::Floor;
  if (name == "ceil") return NearestMode::Ceil;
  return name == "round_prefer_ceil" ? NearestMode::RoundPreferCeil : NearestMode::RoundPreferFloor;
}

Coordinates coordinates_named(const std::string& name) {
  if (name == "half_pixel_symmetric") return Coordinates::HalfPixelSymmetric;
  if (name == "pytorch_half_pixel") return Coordinates::PytorchHalfPixel;
  if (name == "align_corners") return Coordinates::AlignCorners;
  if (name == "asymmetric") return Coordinates::Asymmetric;
  if (name == "tf_half_pixel_for_nn") return Coordinates::HalfPixelForNearest;
  return name == "tf_crop_and_resize" ? Coordinates::CropAndResize : Coordinates::HalfPixel;
}

struct Roi {
  double start = 0;
  double end = 1;
};

// The point of the input that output x stands for. A resized length that is no whole number counts as it is.
double point_of(Coordinates coordinates, const ir::ResizedAxis& axis, const Roi& roi, double x) {
  const double last = static_cast<double>(axis.input - 1);
  const double length = axis.scale * static_cast<double>(axis.input);
  switch (coordinates) {
    case Coordinates::HalfPixel:
      return (x + 0.5) / axis.scale - 0.5;
    case Coordinates::HalfPixelSymmetric: {
      const double center = static_cast<double>(axis.input) / 2;
      const double offset = center * (1 - static_cast<double>(axis.output) / length);
      return offset + (x + 0.5) / axis.scale - 0.5;
    }
    case Coordinates::PytorchHalfPixel:
      return axis.output == 1 ? 0 : (x + 0.5) / axis.scale - 0.5;
    case Coordinates::AlignCorners:
      return axis.output == 1 ? 0 : x * last / (length - 1);
    case Coordinates::Asymmetric:
      return x / axis.scale;
    case Coordinates::HalfPixelForNearest:
      return (x + 0.5) / axis.scale;
    case Coordinates::CropAndResize:
      if (axis.output == 1) return 0.5 * (roi.start + roi.end) * last;
      return roi.start * last + x * (roi.end - roi.start) * last / (length - 1);
  }
  return 0;
}

// A point between whole numbers: base < point <= base + 1.
struct Between {
  std::int64_t base = 0;
  double ratio = 1;
};

Between between(double point) {
  const double base = std::ceil(point) - 1;
  return {static_cast<std::int64_t>(base), point - base};
}

std::int64_t nearest_of(NearestMode mode, double point) {
  const double below = std::floor(point);
  const double ratio = point - below;
  bool up = false;
  switch (mode) {
    case NearestMode::RoundPreferFloor:
      up = ratio > 0.5;
      break;
    case NearestMode::RoundPreferCeil:
      up = ratio >= 0.5;
      break;
    case NearestMode::Floor:
      up = false;
      break;
    case NearestMode::Ceil:
      up = ratio > 0;
      break;
  }
  return static_cast<std::int64_t>(below) + (up ? 1 : 0);
}

double linear_weight(double distance) { return std::max(0.0, 1 - std::fabs(distance)); }

// Keys' cubic convolution.
double cubic_weight(double distance, double a) {
  const double x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
  return 0;
}

class MapBuilder {
 public:
  MapBuilder(const ResizeAttributes& attributes, const ir::ResizedAxis& axis)
      : attributes_(attributes), axis_(axis) {
    const bool is_cubic = attributes.mode == ResizeMode::Cubic;
    const double radius = is_cubic ? 2 : 1;
    // When shrinking, antialiasing widens the kernel as far as the outputs lie apart.
    if (attributes.antialias) narrowing_ = std::min(axis.scale, 1.0);
    before_ = 1 + static_cast<std::int64_t>(std::floor(-radius / narrowing_));
    map_.input = axis.input;
    map_.output = axis.output;
    map_.taps = attributes.mode == ResizeMode::Nearest ? 1 : 2 - 2 * before_;
  }

  void add(double point) {
    if (attributes_.mode == ResizeMode::Nearest) {
      push(nearest_of(attributes_.nearest, point), 1);
      return;
    }
    const Between at = between(point);
    const std::size_t first = map_.weights.size();
    double sum = 0;
    for (std::int64_t i = before_; i < before_ + map_.taps; ++i) {
      const double distance = (static_cast<double>(i) - at.ratio) * narrowing_;
      double weight = attributes_.mode == ResizeMode::Linear ? linear_weight(distance)
                                                             : cubic_weight(distance, attributes_.cubic_a);
      const std::int64_t index = at.base + i;
      if (attributes_.exclude_outside && (index < 0 || index >= axis_.input)) weight = 0;
      push(index, weight);
      sum += weight;
    }
    if (!attributes_.antialias && !attributes_.exclude_outside) return;
    for (std::size_t i = first; i < map_.weights.size(); ++i) map_.weights[i] /= sum;
  }

  void add_outside(std::int64_t output) { map_.outside.push_back(output); }
  AxisMap take() { return std::move(map_); }

 private:
  // Beyond the edge lie copies of the edge.
  void push(std::int64_t index, double weight) {
    map_.indices.push_back(std::clamp<std::int64_t>(index, 0, axis_.input - 1));
    map_.weights.push_back(weight);
  }

  const ResizeAttributes& attributes_;
  const ir::ResizedAxis& axis_;
  double narrowing_ = 1;
  std::int64_t before_ = 0;  // the first tap, seen from the base of the point
  AxisMap map_;
};

AxisMap map_axis(const ResizeAttributes& attributes, const ir::ResizedAxis& axis, const Roi& roi) {
  MapBuilder builder(attributes, axis);
  for (std::int64_t o = 0; o < axis.output; ++o) {
    const double point = point_of(attributes.coordinates, axis, roi, static_cast<double>(o));
    const bool crops = attributes.coordinates == Coordinates::CropAndResize;
    if (crops && !(point >= 0 && point <= static_cast<double>(axis.input - 1))) {
      builder.add(0);
      builder.add_outside(o);
    } else {
      builder.add(point);
    }
  }
  return builder.take();
}

double number_at(const Tensor& tensor, std::size_t i) {
  return tensor.type() == DataType::Double ? tensor.data<double>()[i]
                                           : static_cast<double>(tensor.data<float>()[i]);
}

std::vector<Roi> read_roi(const ResizeAttributes& attributes, std::size_t rank, const Tensor* roi) {
  std::vector<Roi> result(rank);
  if (attributes.coordinates != Coordinates::CropAndResize) return result;
  const std::size_t count = attributes.axes.size();
  if (roi == nullptr || std::cmp_not_equal(roi->size(), 2 * count)) {
    throw Error("roi has {} numbers, tf_crop_and_resize needs {}", roi == nullptr ? 0 : roi->size(),
                2 * count);
  }
  for (std::size_t i = 0; i < count; ++i) {
    result[attributes.axes[i]] = {number_at(*roi, i), number_at(*roi, count + i)};
  }
  return result;
}

}  // namespace

ResizeAttributes read_resize(const ir::TypedOp& op) {
  ResizeAttributes result{.mode = mode_named(op.get_string("mode")),
                          .nearest = nearest_named(op.get_string("nearest_mode")),
                          .coordinates = coordinates_named(op.get_string("coordinate_transformation_mode")),
                          .axes = Dims(op.dims(0).size()),
                          .policy = op.get_string("keep_aspect_ratio_policy"),
                          .cubic_a = static_cast<double>(op.get_float("cubic_coeff_a")),
                          .extrapolation = static_cast<double>(op.get_float("extrapolation_value")),
                          .exclude_outside = op.get_int("exclude_outside") != 0,
                          .antialias = op.get_int("antialias") != 0};
  std::iota(result.axes.begin(), result.axes.end(), 0);
  if (const auto* axes = op.get_if<ir::IntList>("axes"); axes != nullptr && !axes->empty()) {
    result.axes = *axes;
    const auto rank = std::ssize(op.dims(0));
    for (std::int64_t& axis : result.axes) axis = ir::normalized_axis(axis, rank);
  }
  return result;
}

bool AxisMap::is_identity() const {
  if (input != output || !outside.empty()) return false;
  for (std::int64_t i = 0; i < std::ssize(weights); ++i) {
    const bool is_own = indices[i] == i / taps;
    if (weights[i] != 0 && !(is_own && weights[i] == 1)) return false;
  }
  return true;
}

std::vector<AxisMap> resize_maps(const ResizeAttributes& attributes, const Dims& x, const Tensor* roi,
                                 const Tensor* scales, const Tensor* sizes) {
  if (scales != nullptr && scales->size() == 0) scales = nullptr;
  if (sizes != nullptr && (sizes->size() == 0 || scales != nullptr)) sizes = nullptr;
  if (scales == nullptr && sizes == nullptr) throw Error("neither scales nor sizes are given");
  const auto axes = ir::resized_axes(x, attributes.axes, attributes.policy, scales, sizes);
  const std::vector<Roi> regions = read_roi(attributes, x.size(), roi);
  std::vector<AxisMap> maps;
  for (std::size_t i = 0; i < x.size(); ++i) maps.push_back(map_axis(attributes, axes[i], regions[i]));
  return maps;
}

}  // namespace podium::kernels
