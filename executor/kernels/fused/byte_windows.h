// What a convolution of bytes needs beside its products where a number other than 0 stands for zero: what
// lies around X, and the sums of X over each window.
#pragma once

#include <cstdint>
#include <vector>

#include "executor/kernels/fused/fused_conv.h"

namespace podium::kernels {

/// A copy of bytes with a border of its own, which a convolution then reads without padding. Padding below 0
/// at the end of an axis leaves out what no window reads.
class PaddedBytes {
 public:
  /// `x` is [images, spatial..., channels].
  PaddedBytes(const Dims& x, const ConvolutionWindow& window);

  const Dims& dims() const { return padded_; }
  /// Every element of the border becomes `border`.
  void copy(const std::uint8_t* x, std::uint8_t border, std::uint8_t* padded) const;

 private:
  const std::uint8_t* line_of(const std::uint8_t* x, std::int64_t line) const;

  Dims x_;
  Dims padded_;
  Dims begin_;
};

/// The sums of whole numbers over the windows of a convolution without padding, for each of its groups of
/// channels, one axis after the other.
class WindowSums {
 public:
  /// `x` is [images, spatial..., channels], `kernel` has its spatial axes.
  WindowSums(const Dims& x, const Dims& kernel, const ConvolutionWindow& window, std::int64_t groups);

  std::size_t scratch_bytes() const;
  /// [images, windows..., groups], in the scratch memory.
  template <class Byte>
  const std::int32_t* run(const Byte* x, std::int32_t* scratch) const;

 private:
  // [outer, length, inner] becomes [outer, windows, inner].
  struct Axis {
    std::int64_t outer = 1;
    std::int64_t length = 1;
    std::int64_t inner = 1;
    std::int64_t windows = 1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
  };
  static void slide(const Axis& axis, const std::int32_t* from, std::int32_t* to);

  std::int64_t positions_;
  std::int64_t groups_;
  std::int64_t of_group_;  ///< channels
  std::vector<Axis> axes_;
};

}  // namespace podium::kernels
