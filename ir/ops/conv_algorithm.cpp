#include "ir/ops/conv_algorithm.h"

#include <algorithm>

namespace podium::ir {
namespace {

bool are(const std::vector<std::int64_t>& numbers, std::int64_t wanted) {
  return std::ranges::all_of(numbers, [&](std::int64_t number) { return number == wanted; });
}

bool has_rows(const ConvShape& shape) {
  constexpr std::int64_t kManyChannels = 32;  // of a transposed convolution's X, far apart from each other
  const Window& window = shape.window;
  const std::int64_t numbers =
      shape.batch * shape.in_channels * shape.out_channels * shape.in_size * shape.out_size;
  if (numbers == 0 || window.rank() != 2 || shape.group != 1 || shape.kernel_size == 1 ||
      window.output[1] < kRowLanes)
    return false;
  if (!shape.transposed)
    return window.strides[1] == 1 && window.pads_begin[0] >= 0 && window.pads_begin[1] >= 0;
  const auto fits = [&](std::size_t axis) {
    return window.strides[axis] == 1 && window.pads_begin[axis] < window.extent(axis);
  };
  return fits(0) && fits(1) && shape.in_channels < kManyChannels;
}

// The multiply-adds that take as long as one result of each channel. Measured on a machine with AVX-512:
// beside the sum's own, what a vector of channels costs takes as long as 16 for each of its lanes.
struct RowCosts {
  double rows = 0;
  double library = 0;
};

RowCosts costs_of(const ConvShape& shape) {
  constexpr std::int64_t kBlock = 16;
  constexpr double kSlower = 1.1;
  const auto rounded = [](std::int64_t count, std::int64_t unit) {
    return static_cast<double>((count + unit - 1) / unit * unit);
  };
  const std::int64_t width = shape.window.output[1];
  const auto depth = static_cast<double>(shape.depth());
  RowCosts costs{.rows = kSlower * static_cast<double>(shape.out_channels) * (depth + kBesideRows) *
                         rounded(width, kRowLanes) / static_cast<double>(width),
                 .library = rounded(shape.out_channels, kBlock) * (depth + 16)};
  // The padding of a mirrored window is computed with; the library leaves it out.
  if (shape.transposed)
    costs.rows *= static_cast<double>(shape.out_size) / static_cast<double>(shape.in_size);
  return costs;
}

}  // namespace

// Multiply-adds for a pair of channels. Measured on a machine with AVX-512: the 36 products of a tile and its
// transforms take as long as 60 of the sum's, the transforms of the weights as long as 13 tiles.
bool pays_by_winograd(const ConvShape& shape) {
  constexpr std::int64_t kVector = 16;  // a vector of channels; of less the transforms take most of the time
  constexpr std::int64_t kSide = 3;
  constexpr std::int64_t kTile = 4;
  constexpr std::int64_t kTileCost = 60;
  constexpr std::int64_t kWeightsCost = 13 * kTileCost;
  const Window& window = shape.window;
  if (window.rank() != 2 || shape.group != 1 || !are(window.kernel, kSide) || !are(window.strides, 1) ||
      !are(window.dilations, 1) || std::min(shape.in_channels, shape.out_channels) <= kVector)
    return false;
  std::int64_t results = shape.batch;
  std::int64_t tiles = shape.batch;
  for (std::int64_t size : window.output) {
    results *= size;
    tiles *= (size + kTile - 1) / kTile;
  }
  return kTileCost * tiles + kWeightsCost < kSide * kSide * results;
}

bool pays_by_rows(const ConvShape& shape) {
  // Below, Winograd's algorithm has a last block of 16 channels that is not half full.
  constexpr std::int64_t kEnoughForWinograd = 24;
  if (!has_rows(shape)) return false;
  if (pays_by_winograd(shape) && std::min(shape.in_channels, shape.out_channels) >= kEnoughForWinograd)
    return false;
  const RowCosts costs = costs_of(shape);
  return costs.rows < costs.library;
}

bool pays_by_rows_among_channels_last(const ConvShape& shape) {
  constexpr double kMove = 25;  // multiply-adds that take as long as moving a number does
  if (!pays_by_rows(shape)) return false;
  const RowCosts costs = costs_of(shape);
  const auto moved =
      static_cast<double>(shape.in_channels * shape.in_size) / static_cast<double>(shape.out_size) +
      static_cast<double>(shape.out_channels);
  return costs.rows + kMove * moved < costs.library;
}

}  // namespace podium::ir
