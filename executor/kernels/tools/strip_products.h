// Products with weights that are packed beforehand. A few rows wait for memory alone, which gives every
// weight once, at its full rate: those of a decoder's step, of one image, of a recurrence. Without AVX-512,
// for which the library has products of packed weights, convolutions are made of the same.
#pragma once

#include <cstdint>
#include <limits>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// Columns of a strip: with six rows their sums fill the registers. kLibraryPacksProducts: whether the
/// library has products of packed weights.
#if defined(__AVX512F__)
constexpr std::int64_t kStrip = 64;
constexpr bool kLibraryPacksProducts = true;
#else
constexpr std::int64_t kStrip = 16;
constexpr bool kLibraryPacksProducts = false;
#endif
/// Up to so many rows go over a strip once, and such a product is no slower than one of oneDNN's.
inline constexpr std::int64_t kMostStripRows = 6;
/// Up to so many go over floats once: with AVX-512 halves of a strip have room for their sums.
inline constexpr std::int64_t kMostFloatRows = kLibraryPacksProducts ? 8 : kMostStripRows;

/// Floats that a second-level cache keeps beside what is done with them.
inline constexpr std::int64_t kKeptFloats = (1 << 20) / sizeof(float);

/// Strips that hold so many columns, the last of which may be filled up.
inline constexpr std::int64_t strip_count(std::int64_t columns) { return (columns + kStrip - 1) / kStrip; }

/// What a row of a strip is made of: kStrip floats, float16s or bfloat16s, signed bytes, or half as many
/// bytes with two codes of 4 bits each, without a sign: column j in the low half of byte j, column j + kStrip
/// / 2 in its high half.
enum class StripNumbers : std::uint8_t { Floats, Halves, Bfloats, Bytes, Codes };
constexpr bool are_floats(StripNumbers numbers) { return numbers <= StripNumbers::Bfloats; }
constexpr int bits_of(StripNumbers numbers) {
  switch (numbers) {
    case StripNumbers::Floats:
      return 32;
    case StripNumbers::Halves:
    case StripNumbers::Bfloats:
      return 16;
    case StripNumbers::Bytes:
      return 8;
    case StripNumbers::Codes:
      break;
  }
  return 4;
}

/// Weights W [inner, columns] in strips of kStrip columns, one strip after the other, row by row. Columns
/// that fill up the last strip have weight 0. Bytes and codes stand for unit scale (number - zero point),
/// with a scale and a zero point for each column of each group of rows.
struct StripWeights {
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  StripNumbers kind = StripNumbers::Floats;
  ir::Tensor numbers = {};  ///< [strip, row, bytes of a row]

  std::int64_t group = 0;   ///< rows of a group; the last one may have fewer
  std::int64_t groups = 0;  ///< 0 for floats of any width
  float unit = 1;           ///< what x is multiplied by beforehand, and the scales were divided by
  ir::Tensor scales = {};   ///< [strip, group, column], floats
  /// [strip, group, column], floats; [column] where all are alike, undefined where all are 0.
  ir::Tensor zero_points = {};

  std::int64_t strips() const { return strip_count(columns); }
  std::int64_t bytes_of_row() const { return kStrip * bits_of(kind) / 8; }
};

/// Weights as they lie: elements from one row of W to the next, and from one column to the next. The rows are
/// those of one tap after the other, from one of which to the next there are `tap_step` elements.
template <class T>
struct WeightMatrix {
  const T* at = nullptr;
  std::int64_t inner = 0;  ///< of all taps
  std::int64_t columns = 0;
  std::int64_t row_step = 0;
  std::int64_t column_step = 0;
  std::int64_t taps = 1;
  std::int64_t tap_step = 0;

  static WeightMatrix plain(const T* at, std::int64_t inner, std::int64_t columns) {
    return {at, inner, columns, columns, 1};
  }
  /// Of memory [columns, inner].
  static WeightMatrix transposed(const T* at, std::int64_t inner, std::int64_t columns) {
    return {at, inner, columns, 1, inner};
  }
  /// Of a convolution's weights [columns, channels, taps].
  static WeightMatrix by_taps(const T* at, std::int64_t taps, std::int64_t channels, std::int64_t columns) {
    return {at, taps * channels, columns, taps, channels * taps, taps, 1};
  }
};
using MatrixOfFloats = WeightMatrix<float>;

/// Floats of strips of such weights.
std::int64_t floats_of_strips(std::int64_t inner, std::int64_t columns);
/// In memory of their own, or in `memory`, which outlives them.
StripWeights strips_of(const MatrixOfFloats& weights, float* memory = nullptr);

/// The same of weights that are known beforehand, which keep their 32 or 16 bits: [inner, columns], [columns,
/// inner] where they are transposed, or a convolution's [columns, channels, taps...].
enum class StripSource : std::uint8_t { Plain, Transposed, Taps };
StripWeights strips_of(const PrepareContext& context, const ir::Tensor& weights, StripSource source);

/// Rows of x that lie in stretches of equal lengths, wherever those are.
struct StretchedRows {
  const float* const* starts = nullptr;  ///< [rows, stretches]; nullptr: rows lie one after the other
  std::int64_t stretches = 1;
};

/// y = clamp(x W + bias + addend). Row-major: x [rows, inner], y and addend [rows, columns] with `row_y`
/// elements from one row to the next. Floats below `low` and above `high` become these; NaN stays.
struct StripOperands {
  const float* x = nullptr;  ///< or `stretched`, with weights of floats of any width
  StretchedRows stretched = {};
  /// With weights of floats of any width: elements from one row of x to the next. 0: as above.
  std::int64_t row_x = 0;
  /// With weights of floats of any width: x is the memory [inner, this], from which `rows` columns are taken.
  /// 0: as above.
  std::int64_t turned_x = 0;
  std::int64_t rows = 0;
  float* y = nullptr;
  std::int64_t row_y = 0;
  /// What is multiplied behind the last strip, as much as a strip, so that it comes in time; or nullptr.
  const float* next = nullptr;
  const float* bias = nullptr;    ///< [columns], or nullptr
  const float* addend = nullptr;  ///< or nullptr; may be y
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  /// Of weights of few bits: room for the floats of a strip for each thread (bytes_for_widening), or nullptr.
  float* widened = nullptr;
};

/// What a product of few bits with so many rows wants as StripOperands::widened.
std::size_t bytes_for_widening(const StripWeights& weights, std::int64_t rows);

/// In which order a thread takes its strips. Who multiplies with the same weights again and again, more than
/// a second-level cache holds, takes them back and forth: the last ones are still there.
enum class StripOrder : std::uint8_t { Forth, Back };

/// The same bits on any number of threads, in either order, and for a row whatever other rows there are; with
/// weights of few bits it counts whether they are widened.
void multiply_strips(const StripWeights& weights, const StripOperands& operands,
                     StripOrder order = StripOrder::Forth);

/// The strips [begin, end), on this thread.
struct StripRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
void multiply_strips(const StripWeights& weights, const StripOperands& operands, const StripRange& range);

}  // namespace podium::kernels
