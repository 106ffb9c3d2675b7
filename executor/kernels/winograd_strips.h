// Convolutions of windows of 3 x 3 and their gradients by Winograd's algorithm, as products with strips.
#pragma once

#include "executor/kernels/conv.h"
#include "executor/kernels/tools/strip_products.h"
#include "executor/kernels/winograd_tiles.h"

namespace podium::kernels {

/// Windows of 3 x 3 in memory: the taps of a pair of channels lie side by side.
struct WinogradWindows {
  const float* at = nullptr;
  std::int64_t column_step = 0;   ///< from a channel of y to the next
  std::int64_t channel_step = 0;  ///< from a channel of x to the next
  enum class Taps : std::uint8_t { InOrder, BackToFront } taps = Taps::InOrder;

  float tap(std::int64_t column, std::int64_t channel, std::int64_t k) const {
    return at[column * column_step + channel * channel_step +
              (taps == Taps::InOrder ? k : winograd::kTaps - 1 - k)];
  }
};
/// ONNX's weights of a convolution, transposed or not.
WinogradWindows winograd_windows(const ConvShape& shape, const float* weights);

/// Floats of the transformed windows: for each element a matrix [channels of x, of y] in strips, and a line
/// of the cache.
std::int64_t floats_of_winograd_windows(const winograd::Shape& shape);
void transform_windows(const winograd::Shape& shape, const WinogradWindows& windows, float* to);

/// Images are channels-last, of channels that fill vectors of ir::kRowLanes. y = clamp(sum + bias + addend).
struct WinogradOperands {
  const float* x = nullptr;
  WinogradWindows windows = {};        ///< for results that are not finite
  const float* transformed = nullptr;  ///< windows
  const float* bias = nullptr;         ///< or nullptr
  const float* addend = nullptr;       ///< or nullptr
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  float* y = nullptr;
  std::byte* scratch = nullptr;
};
/// Whether channels fill vectors, and oneDNN has no Winograd's algorithm for the processor, or tiles of 2x2,
/// whose windows are smaller, but not faster.
bool has_winograd_strips(const winograd::Shape& shape);
std::size_t scratch_of_winograd_strips(const winograd::Shape& shape);
/// The transforms make NaN of what lies beside an infinity, so results that are not all finite are computed
/// once more, by their sums. The same bits on any number of threads.
void convolve_by_winograd_strips(const winograd::Shape& shape, const WinogradOperands& operands);

/// A convolution of tensors as ONNX has them whose weights change; nullopt where there are no strips for it.
std::optional<FloatConv> make_winograd_strips(const ConvShape& shape);
/// The same of the weights' gradient, without regard to results that are not finite.
std::optional<FloatWeightGradient> make_winograd_weight_gradient(const ConvShape& shape);

}  // namespace podium::kernels
