// Products of a few rows with weights that are packed beforehand. Memory gives every weight once, at its full
// rate, which is what such products wait for: those of a decoder's step, of one image, of a recurrence.
#pragma once

#include <cstdint>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// Columns of a strip.
inline constexpr std::int64_t kStrip = 64;
/// Up to so many rows go over the weights once, and such a product is no slower than one of oneDNN's.
inline constexpr std::int64_t kMostStripRows = 6;

/// Weights W [inner, columns] in strips of 64 columns, one strip after the other, row by row. Columns that
/// fill up the last strip have weight 0. A row of a strip is
///   - 64 floats (32 bits), or
///   - 64 signed bytes (8 bits), or
///   - 32 bytes (4 bits): column j in the low half of byte j, column j + 32 in its high half, unsigned.
/// Those of few bits stand for unit scale (number - zero point), with a scale and a zero point for each
/// column of each group of rows.
struct StripWeights {
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  int bits = 32;
  ir::Tensor numbers = {};  ///< [strip, row, bytes of a row]

  std::int64_t group = 0;       ///< rows of a group; the last one may have fewer
  std::int64_t groups = 0;      ///< 0 for floats
  float unit = 1;               ///< what x is multiplied by beforehand, and the scales were divided by
  ir::Tensor scales = {};       ///< [strip, group, 64], floats
  ir::Tensor zero_points = {};  ///< [strip, group, 64], floats; undefined where all are 0

  std::int64_t strips() const { return (columns + kStrip - 1) / kStrip; }
  std::int64_t bytes_of_row() const { return kStrip * bits / 8; }
};

/// Floats as they lie: elements from one row of W to the next, and from one column to the next. One is 1.
struct MatrixOfFloats {
  const float* at = nullptr;
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  std::int64_t row_step = 0;
  std::int64_t column_step = 0;

  static MatrixOfFloats plain(const float* at, std::int64_t inner, std::int64_t columns) {
    return {at, inner, columns, columns, 1};
  }
  /// Of memory [columns, inner].
  static MatrixOfFloats transposed(const float* at, std::int64_t inner, std::int64_t columns) {
    return {at, inner, columns, 1, inner};
  }
};

/// Floats of strips of such weights.
std::int64_t floats_of_strips(std::int64_t inner, std::int64_t columns);
/// In memory of their own, or in `memory`, which outlives them.
StripWeights strips_of(const MatrixOfFloats& weights, float* memory = nullptr);

/// The same of weights that are known beforehand, [columns, inner] where they are `transposed`.
enum class StripSource : std::uint8_t { Plain, Transposed };
StripWeights strips_of(const PrepareContext& context, const ir::Tensor& weights, StripSource source);

/// y = x W + bias + addend. Row-major: x [rows, inner], y and addend [rows, columns] with `row_y` elements
/// from one row to the next.
struct StripOperands {
  const float* x = nullptr;
  std::int64_t rows = 0;
  float* y = nullptr;
  std::int64_t row_y = 0;
  const float* bias = nullptr;    ///< [columns], or nullptr
  const float* addend = nullptr;  ///< or nullptr; may be y
};

/// In which order a thread takes its strips. Who multiplies with the same weights again and again, more than
/// a second-level cache holds, takes them back and forth: the last ones are still there.
enum class StripOrder : std::uint8_t { Forth, Back };

/// The same bits on any number of threads, in either order, and for a row whatever other rows there are.
void multiply_strips(const StripWeights& weights, const StripOperands& operands,
                     StripOrder order = StripOrder::Forth);

}  // namespace podium::kernels
