// Resize axis by axis: which inputs each output along one axis is a sum of.
#pragma once

#include <string>
#include <vector>

#include "executor/kernels/tools/kernel.h"
#include "ir/ops/resize_axes.h"

namespace podium::kernels {

enum class ResizeMode { Nearest, Linear, Cubic };
enum class NearestMode { RoundPreferFloor, RoundPreferCeil, Floor, Ceil };
enum class Coordinates {
  HalfPixel,
  HalfPixelSymmetric,
  PytorchHalfPixel,
  AlignCorners,
  Asymmetric,
  CropAndResize,
  HalfPixelForNearest  ///< version 11 only
};

struct ResizeAttributes {
  ResizeMode mode = ResizeMode::Nearest;
  NearestMode nearest = NearestMode::RoundPreferFloor;
  Coordinates coordinates = Coordinates::HalfPixel;
  Dims axes = {};  ///< that scales, sizes and roi speak of
  std::string policy = {};
  double cubic_a = -0.75;
  double extrapolation = 0;
  bool exclude_outside = false;
  bool antialias = false;
};

ResizeAttributes read_resize(const ir::TypedOp& op);

/// Along one axis, output o is the sum over k < taps of weights[o * taps + k] * input[indices[o * taps + k]].
struct AxisMap {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t taps = 1;
  std::vector<std::int64_t> indices = {};
  std::vector<double> weights = {};
  std::vector<std::int64_t> outside = {};  ///< outputs that are the extrapolation value instead

  bool is_identity() const;
};

/// One map for each axis of x. `roi`: nullptr when it is not given.
std::vector<AxisMap> resize_maps(const ResizeAttributes& attributes, const Dims& x, const Tensor* roi,
                                 const Tensor* scales, const Tensor* sizes);

/// Resizes tensors of any element type, where each axis has one tap.
void resize_nearest(const std::vector<AxisMap>& maps, const Tensor& x, Tensor& y);
/// Resizes floats and integers; integers are cut to whole numbers as in ONNX's reference.
void resize_weighted(const std::vector<AxisMap>& maps, const Tensor& x, Tensor& y);
/// Sets the elements outside the region of interest.
void fill_outside(const std::vector<AxisMap>& maps, double value, Tensor& y);

PreparedKernel prepare_resize(PrepareContext& context);
PreparedKernel prepare_grid_sample(PrepareContext& context);
PreparedKernel prepare_affine_grid(PrepareContext& context);

}  // namespace podium::kernels
