#include "executor/kernels/winograd.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

bool are(const std::vector<std::int64_t>& numbers, std::int64_t wanted) {
  return std::ranges::all_of(numbers, [&](std::int64_t number) { return number == wanted; });
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
  const ir::Window& window = shape.window;
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

bool are_finite(std::span<const float> numbers) {
  std::atomic<bool> finite = true;
  parallel_ranges(std::ssize(numbers), 1, [&](std::int64_t begin, std::int64_t end) {
    bool all = true;  // no way out of the loop, which so works on vectors
    for (std::int64_t i = begin; i < end; ++i)
      all &= std::abs(numbers[static_cast<std::size_t>(i)]) <= std::numeric_limits<float>::max();
    if (!all) finite = false;
  });
  return finite;
}

}  // namespace podium::kernels
