// Rules by shape, each measured on a machine with AVX-512 in single convolutions: by Winograd's algorithm,
// with vectors along rows, plane by plane, or as one product for all images.
#include "ir/ops/conv_algorithm.h"

#include <algorithm>

namespace podium::ir {
namespace {

bool are(const std::vector<std::int64_t>& numbers, std::int64_t wanted) {
  return std::ranges::all_of(numbers, [&](std::int64_t number) { return number == wanted; });
}

std::int64_t rounded(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

// Padding below nothing would leave elements out.
bool has_padding_alone(const Window& window) {
  return std::ranges::all_of(window.pads_begin, [](std::int64_t pad) { return pad >= 0; });
}

// Groups of so few channels that no vector is full of them, for which the library has nothing that is fast
// (measured: 2 GFLOP/s). Those of one channel go plane by plane.
bool has_thin_groups(const ConvShape& shape) {
  return shape.group > 1 && shape.in_channels > 1 &&
         std::max(shape.in_channels, shape.out_channels) < kRowLanes;
}

bool has_rows(const ConvShape& shape) {
  constexpr std::int64_t kManyChannels = 32;  // of a transposed convolution's X, far apart from each other
  const Window& window = shape.window;
  const std::int64_t numbers =
      shape.batch * shape.in_channels * shape.out_channels * shape.in_size * shape.out_size;
  const bool is_product = shape.group == 1 && shape.kernel_size == 1;
  if (numbers == 0 || window.rank() < 1 || window.rank() > 2 || is_product ||
      (shape.group > 1 && !has_thin_groups(shape)) || window.output.back() < kRowLanes)
    return false;
  if (!shape.transposed) return window.strides.back() == 1 && has_padding_alone(window);
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    if (window.strides[axis] != 1 || window.pads_begin[axis] >= window.extent(axis)) return false;
  }
  return shape.in_channels < kManyChannels;
}

// The multiply-adds that take as long as one result of each channel. Measured on a machine with AVX-512:
// beside the sum's own, what a vector of channels costs takes as long as 16 for each of its lanes.
struct RowCosts {
  double rows = 0;
  double library = 0;
};

RowCosts costs_of(const ConvShape& shape) {
  constexpr std::int64_t kBlock = 16;
  constexpr std::int64_t kBeside = 16;
  constexpr double kSlower = 1.1;
  const auto places = static_cast<double>(shape.batch * shape.out_size);
  RowCosts costs{
      .rows = kSlower * multiply_adds_by_rows(shape) / places,
      .library = static_cast<double>(rounded(shape.out_channels, kBlock) * (shape.depth() + kBeside))};
  // The padding of a mirrored window is computed with; the library leaves it out.
  if (shape.transposed)
    costs.rows *= static_cast<double>(shape.out_size) / static_cast<double>(shape.in_size);
  return costs;
}

}  // namespace

std::int64_t winograd_tiles(const ConvShape& shape) {
  constexpr std::int64_t kSide = 3;
  const Window& window = shape.window;
  if (window.rank() != 2 || shape.group != 1 || !are(window.kernel, kSide) || !are(window.strides, 1) ||
      !are(window.dilations, 1))
    return 0;
  std::int64_t tiles = shape.batch;
  for (std::int64_t size : window.output) tiles *= (size + kWinogradTile - 1) / kWinogradTile;
  return tiles;
}

// Multiply-adds for a pair of channels. Measured on a machine with AVX-512: the 36 products of a tile and its
// transforms take as long as 60 of the sum's.
bool pays_by_winograd(const ConvShape& shape) {
  constexpr std::int64_t kVector = 16;  // a vector of channels; of less the transforms take most of the time
  constexpr std::int64_t kTileCost = 60;
  const std::int64_t tiles = winograd_tiles(shape);
  if (tiles == 0 || std::min(shape.in_channels, shape.out_channels) <= kVector) return false;
  std::int64_t sums = shape.batch;
  for (std::size_t axis = 0; axis < shape.window.rank(); ++axis)
    sums *= shape.window.output[axis] * shape.window.kernel[axis];
  return kTileCost * (tiles + kWinogradWeights) < sums;
}

// Measured on a machine with AVX-512: of fewer channels or tiles the transforms, reorders and the larger
// weights cost more than the smaller products save.
bool pays_by_packed_winograd(const ConvShape& shape) {
  constexpr std::int64_t kLeastChannels = 32;
  constexpr std::int64_t kLeastTiles = 8;
  const auto are_small = [](const Dims& pads) {
    return std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0 || pad == 1; });
  };
  return !shape.transposed && winograd_tiles(shape) >= kLeastTiles && are_small(shape.window.pads_begin) &&
         are_small(shape.window.pads_end) &&
         std::min(shape.in_channels, shape.out_channels) >= kLeastChannels;
}

double multiply_adds_by_rows(const ConvShape& shape) {
  // Beside its own, a result costs as much as 4.
  constexpr std::int64_t kBeside = 4;
  const std::int64_t width = shape.window.output.back();
  const std::int64_t rows = shape.batch * shape.group * shape.out_channels * (shape.out_size / width);
  return static_cast<double>(rows * rounded(width, kRowLanes) * (shape.depth() + kBeside));
}

bool pays_by_rows(const ConvShape& shape) {
  // Below, Winograd's algorithm has a last block of 16 channels that is not half full.
  constexpr std::int64_t kEnoughForWinograd = 24;
  if (!has_rows(shape)) return false;
  if (shape.group > 1) return true;
  if (pays_by_winograd(shape) && std::min(shape.in_channels, shape.out_channels) >= kEnoughForWinograd)
    return false;
  const RowCosts costs = costs_of(shape);
  return costs.rows < costs.library;
}

bool pays_by_rows_among_channels_last(const ConvShape& shape) {
  constexpr double kMove = 25;  // multiply-adds that take as long as moving a number does
  if (!pays_by_rows(shape)) return false;
  if (shape.group > 1) return true;
  const RowCosts costs = costs_of(shape);
  const auto moved =
      static_cast<double>(shape.in_channels * shape.in_size) / static_cast<double>(shape.out_size) +
      static_cast<double>(shape.out_channels);
  return costs.rows + kMove * moved < costs.library;
}

bool pays_by_planes(const ConvShape& shape) {
  const Window& window = shape.window;
  const std::int64_t numbers = shape.batch * shape.kernel_size * shape.in_size * shape.out_size;
  return numbers > 0 && shape.group > 1 && shape.in_channels == 1 && shape.out_channels == 1 &&
         window.rank() >= 1 && window.rank() <= 3 && (shape.transposed || has_padding_alone(window));
}

double multiply_adds_by_planes(const ConvShape& shape) {
  constexpr double kSlower = 2.8;  // half a vector, and a number loaded for each sum
  const std::int64_t size = shape.transposed ? shape.in_size : shape.out_size;
  const std::int64_t width = (shape.transposed ? shape.window.input : shape.window.output).back();
  const std::int64_t rows = shape.batch * shape.group * (size / width);
  return kSlower * static_cast<double>(rows * rounded(width, kRowLanes) * shape.kernel_size);
}

// Of lines and volumes: measured 4 to 14 times.
bool pays_by_planes_among_channels_last(const ConvShape& shape) {
  return shape.window.rank() != 2 && pays_by_planes(shape);
}

bool has_one_element(const ConvShape& shape) {
  const Window& window = shape.window;
  if (shape.group != 1 || shape.kernel_size != 1 || window.rank() < 1 || window.rank() > 3 ||
      !are(window.pads_begin, 0))
    return false;
  const auto& places = shape.transposed ? window.input : window.output;
  const auto& all = shape.transposed ? window.output : window.input;
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    if (places[axis] > 0 && (places[axis] - 1) * window.strides[axis] >= all[axis]) return false;
  }
  return true;
}

// Measured on a machine with AVX-512 and a second cache of 1 MiB.
bool pays_to_join_images(const ConvShape& shape) {
  constexpr std::int64_t kFewColumns = 64;
  constexpr std::int64_t kManyWeights = 1 << 18;
  const std::int64_t columns = shape.transposed ? shape.in_size : shape.out_size;
  return has_one_element(shape) && shape.batch > 1 && columns > 0 && columns <= kFewColumns &&
         shape.in_channels * shape.out_channels >= kManyWeights;
}

}  // namespace podium::ir
