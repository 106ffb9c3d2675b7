// Exact products of bytes on processors without VNNI, whose own instructions for bytes saturate in 16 bits:
// bytes are widened to words of 16 bits, and two products of these at a time are added up in 32 bits.
#pragma once

#include <cstdint>
#include <span>

#include "ir/tensor.h"

namespace podium::kernels {

/// Columns that are multiplied together.
inline constexpr std::int64_t kWordColumns = 16;

/// A matrix [inner, columns] of signed bytes as products read it: 16 columns after the other, of them two
/// rows after the other, of which each column has both numbers side by side. What fills up is 0.
struct WordWeights {
  std::int64_t inner = 0;
  std::int64_t columns = 0;
  ir::Tensor numbers = {};  ///< int8 [group of columns, pair of rows, column, 2]

  std::int64_t groups() const { return (columns + kWordColumns - 1) / kWordColumns; }
  std::int64_t pairs() const { return (inner + 1) / 2; }
};

/// The type of such numbers.
ir::Type word_weights_type(std::int64_t inner, std::int64_t columns);
/// Of row-major numbers.
WordWeights word_weights_of(std::span<const std::int8_t> numbers, std::int64_t inner, std::int64_t columns);

/// C = A B for row-major bytes A [rows, inner] of either sign and C [rows, columns]; sums wrap in 32 bits.
template <class A>
void multiply_words(const A* a, std::int64_t rows, const WordWeights& b, std::int32_t* c);

}  // namespace podium::kernels
