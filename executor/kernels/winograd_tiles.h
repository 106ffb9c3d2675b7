// What convolutions by Winograd's algorithm F(4x4, 3x3) and their gradients share: where tiles lie in images
// channels-last, and the transforms of what a tile sees, of windows and of results, each with its adjoint
// where a gradient needs that.
//
// The transforms evaluate at 0, +-a, +-b and infinity. With a b = 1 few factors are left, and with
// a = sqrt(1/2) and b = sqrt(2) rounding is half of that with the usual 1 and 2.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <numbers>
#include <tuple>
#include <type_traits>

#include "executor/kernels/row_vectors.h"
#include "ir/ops/conv_shape.h"

namespace podium::kernels::winograd {

inline constexpr std::int64_t kSide = 6;  ///< of what a tile sees
inline constexpr std::int64_t kResults = ir::kWinogradTile;
inline constexpr std::int64_t kWindow = 3;
inline constexpr std::int64_t kTaps = kWindow * kWindow;
inline constexpr std::int64_t kElements = kSide * kSide;
/// The elements of what is transformed lie so many floats further apart than they are long, a line of the
/// cache: at powers of two all 36 would share a few of its places.
inline constexpr std::int64_t kApart = 16;

namespace points {
inline constexpr float kA = 0.5F * std::numbers::sqrt2_v<float>;
inline constexpr float kB = std::numbers::sqrt2_v<float>;
inline constexpr float kA2 = 0.5F;
inline constexpr float kB2 = 2;
inline constexpr float kOfA = 1 / (2 * kA2 * (kA2 - kB2));  // of the window's value at a, and at -a
inline constexpr float kOfB = 1 / (2 * kB2 * (kB2 - kA2));
}  // namespace points

/// Channels that a register holds.
using ChannelVector = RowRegister;
inline constexpr std::int64_t kChannelLanes = kPlacesOfRegister * ir::kRowLanes;

inline ChannelVector load_channels(const float* from) {
  ChannelVector channels;
  std::memcpy(&channels, from, sizeof channels);
  return channels;
}

/// As many numbers in each lane, and a square of them, row by row.
template <std::size_t kCount>
using Line = std::array<ChannelVector, kCount>;
template <std::size_t kCount>
using Square = std::array<Line<kCount>, kCount>;

/// What a tile sees.
inline Line<kSide> transformed_x(const Line<kSide>& d) {
  using namespace points;
  const ChannelVector even_a = d[4] - kB2 * d[2];
  const ChannelVector odd_a = kA * (d[3] - kB2 * d[1]);
  const ChannelVector even_b = d[4] - kA2 * d[2];
  const ChannelVector odd_b = kB * (d[3] - kA2 * d[1]);
  constexpr float kSum = kA2 + kB2;
  return {d[0] - kSum * d[2] + d[4], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b,
          d[1] - kSum * d[3] + d[5]};
}

/// A window.
inline Line<kSide> transformed_w(const Line<kWindow>& g) {
  using namespace points;
  const ChannelVector even_a = kOfA * (g[0] + kA2 * g[2]);
  const ChannelVector odd_a = kOfA * kA * g[1];
  const ChannelVector even_b = kOfB * (g[0] + kB2 * g[2]);
  const ChannelVector odd_b = kOfB * kB * g[1];
  return {g[0], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, g[2]};
}

/// Its adjoint: the gradient of a window.
inline Line<kWindow> gradient_of_w(const Line<kSide>& u) {
  using namespace points;
  const ChannelVector even_a = kOfA * (u[1] + u[2]);
  const ChannelVector odd_a = kOfA * kA * (u[1] - u[2]);
  const ChannelVector even_b = kOfB * (u[3] + u[4]);
  const ChannelVector odd_b = kOfB * kB * (u[3] - u[4]);
  return {u[0] + even_a + even_b, odd_a + odd_b, kA2 * even_a + kB2 * even_b + u[5]};
}

/// Products back to a tile's results.
inline Line<kResults> transformed_y(const Line<kSide>& m) {
  using namespace points;
  const ChannelVector even_a = m[1] + m[2];
  const ChannelVector odd_a = kA * (m[1] - m[2]);
  const ChannelVector even_b = m[3] + m[4];
  const ChannelVector odd_b = kB * (m[3] - m[4]);
  return {m[0] + even_a + even_b, odd_a + odd_b, kA2 * even_a + kB2 * even_b,
          kA2 * odd_a + kB2 * odd_b + m[5]};
}

/// Its adjoint: the gradient of products.
inline Line<kSide> gradient_of_products(const Line<kResults>& d) {
  using namespace points;
  const ChannelVector even_a = d[0] + kA2 * d[2];
  const ChannelVector odd_a = kA * (d[1] + kA2 * d[3]);
  const ChannelVector even_b = d[0] + kB2 * d[2];
  const ChannelVector odd_b = kB * (d[1] + kB2 * d[3]);
  return {d[0], even_a + odd_a, even_a - odd_a, even_b + odd_b, even_b - odd_b, d[3]};
}

/// A transform along columns, then along rows.
template <auto kTransform, std::size_t kFrom>
[[gnu::always_inline]] inline auto along_both(const Square<kFrom>& from) {
  constexpr std::size_t kTo = std::tuple_size_v<decltype(kTransform(from[0]))>;
  std::array<Line<kTo>, kFrom> columns;
  for (std::size_t j = 0; j < kFrom; ++j) {
    Line<kFrom> column;
    for (std::size_t i = 0; i < kFrom; ++i) column[i] = from[i][j];
    columns[j] = kTransform(column);
  }
  Square<kTo> to;
  for (std::size_t i = 0; i < kTo; ++i) {
    Line<kFrom> row;
    for (std::size_t j = 0; j < kFrom; ++j) row[j] = columns[j][i];
    to[i] = kTransform(row);
  }
  return to;
}

/// Images channels-last.
struct Images {
  std::int64_t channels = 0;
  std::array<std::int64_t, 2> size = {};

  std::int64_t floats() const { return size[0] * size[1] * channels; }
};

/// Where a tile's results lie.
struct TilePlace {
  std::int64_t image = 0;
  std::array<std::int64_t, 2> first = {};
};

/// A convolution with windows of 3 x 3 that move by one.
struct Shape {
  std::int64_t images = 0;
  Images x;
  Images y;
  std::array<std::int64_t, 2> pads = {};

  /// Of a transposed one: the convolution that it is, with windows turned back to front.
  static Shape of(const ir::ConvShape& shape) {
    const ir::Window& window = shape.window;
    const auto pad = [&](std::size_t axis) {
      return shape.transposed ? kWindow - 1 - window.pads_begin[axis] : window.pads_begin[axis];
    };
    return {.images = shape.batch,
            .x = {shape.in_channels, {window.input[0], window.input[1]}},
            .y = {shape.out_channels, {window.output[0], window.output[1]}},
            .pads = {pad(0), pad(1)}};
  }

  std::int64_t tiles_along(std::size_t axis) const { return (y.size[axis] + kResults - 1) / kResults; }
  std::int64_t tiles() const { return images * tiles_along(0) * tiles_along(1); }
  TilePlace place_of(std::int64_t tile) const {
    const std::int64_t across = tiles_along(1);
    const std::int64_t of_image = tiles_along(0) * across;
    const std::int64_t in_image = tile % of_image;
    return {.image = tile / of_image, .first = {in_image / across * kResults, in_image % across * kResults}};
  }
};

/// Where the elements of a square lie, the first of whose channels are at `from`; nullptr: outside.
template <std::size_t kCount>
std::array<const float*, kCount * kCount> elements_at(const Images& images, const float* from,
                                                      std::int64_t image, std::int64_t first_row,
                                                      std::int64_t first_column) {
  std::array<const float*, kCount * kCount> at{};
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::int64_t row = first_row + static_cast<std::int64_t>(i);
    for (std::size_t j = 0; j < kCount; ++j) {
      const std::int64_t column = first_column + static_cast<std::int64_t>(j);
      if (row >= 0 && row < images.size[0] && column >= 0 && column < images.size[1]) {
        at[i * kCount + j] =
            from + image * images.floats() + (row * images.size[1] + column) * images.channels;
      }
    }
  }
  return at;
}

/// The square in lanes of channels from `channel` on; 0 outside, where not all of it is inside.
template <std::size_t kCount, bool kIsInside = false>
[[gnu::always_inline]] inline Square<kCount> loaded(const std::array<const float*, kCount * kCount>& at,
                                                    std::int64_t channel) {
  Square<kCount> square;
  for (std::size_t i = 0; i < kCount; ++i) {
    for (std::size_t j = 0; j < kCount; ++j) {
      const float* from = at[i * kCount + j];
      square[i][j] = !kIsInside && from == nullptr ? ChannelVector{} : load_channels(from + channel);
    }
  }
  return square;
}

/// Where what a tile sees of x lies.
inline auto seen_at(const Shape& shape, const float* x, const TilePlace& place) {
  return elements_at<kSide>(shape.x, x, place.image, place.first[0] - shape.pads[0],
                            place.first[1] - shape.pads[1]);
}

/// What a tile sees of x, transformed; `store(channel, element, lanes)` gets it.
template <class Store>
void transform_seen(const Shape& shape, const float* x, const TilePlace& place, const Store& store) {
  const auto at = seen_at(shape, x, place);
  const auto go = [&](auto is_inside) {
    for (std::int64_t c = 0; c < shape.x.channels; c += kChannelLanes) {
      const Square<kSide> square = along_both<transformed_x>(loaded<kSide, is_inside>(at, c));
      for (std::int64_t i = 0; i < kElements; ++i) store(c, i, square[i / kSide][i % kSide]);
    }
  };
  // Most tiles are: nothing has to be asked of each element then.
  if (std::ranges::find(at, nullptr) == at.end()) return go(std::true_type());
  go(std::false_type());
}

}  // namespace podium::kernels::winograd
