// Up to six rows of A at a time are multiplied with 16 columns of B, whose sums stay in registers.
#include "executor/kernels/tools/word_products.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <vector>

#include "executor/kernels/tools/even_tiles.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

constexpr int kWordRows = 6;
constexpr std::int64_t kSumLanes = 8;
constexpr std::int64_t kSumParts = kWordColumns / kSumLanes;
using SumLanes [[gnu::vector_size(kSumLanes * sizeof(std::int32_t))]] = std::int32_t;

// Sums of two products each: of a pair of A, which is the same for all columns, and 8 pairs of bytes.
SumLanes products_of_pairs(const std::int16_t* pair, const std::int8_t* bytes) {
#if defined(__AVX2__)
  std::int32_t both;
  std::memcpy(&both, pair, sizeof both);
  const __m256i words = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
  return reinterpret_cast<SumLanes>(_mm256_madd_epi16(words, _mm256_set1_epi32(both)));
#else
  SumLanes sums;
  for (std::int64_t j = 0; j < kSumLanes; ++j) sums[j] = pair[0] * bytes[2 * j] + pair[1] * bytes[2 * j + 1];
  return sums;
#endif
}

// Rows [row, row + kRows) of C, and a group of columns.
template <int kRows>
void multiply_word_tile(const std::int16_t* a, const WordWeights& b, std::int64_t group, std::int64_t row,
                        std::int32_t* c) {
  const std::int64_t pairs = b.pairs();
  const auto* bytes = b.numbers.data<std::int8_t>() + group * pairs * 2 * kWordColumns;
  SumLanes sums[kRows][kSumParts] = {};
  for (std::int64_t pair = 0; pair < pairs; ++pair, bytes += 2 * kWordColumns) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 8
      for (std::int64_t part = 0; part < kSumParts; ++part)
        sums[r][part] += products_of_pairs(a + ((row + r) * pairs + pair) * 2, bytes + part * 2 * kSumLanes);
    }
  }
  const std::int64_t column = group * kWordColumns;
  const std::int64_t count = std::min(kWordColumns, b.columns - column);
  for (int r = 0; r < kRows; ++r)
    std::memcpy(c + (row + r) * b.columns + column, sums[r], count * sizeof(std::int32_t));
}

}  // namespace

ir::Type word_weights_type(std::int64_t inner, std::int64_t columns) {
  const WordWeights weights{.inner = inner, .columns = columns};
  return ir::Type::tensor(ir::DataType::Int8, {weights.groups(), weights.pairs(), kWordColumns, 2});
}

WordWeights word_weights_of(std::span<const std::int8_t> numbers, std::int64_t inner, std::int64_t columns) {
  const ir::Type type = word_weights_type(inner, columns);
  WordWeights weights{.inner = inner, .columns = columns, .numbers = ir::Tensor(type.element, type.dims)};
  auto* const to = weights.numbers.data<std::int8_t>();
  parallel_ranges(weights.groups(), inner * kWordColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      const std::int64_t first = group * kWordColumns;
      const std::int64_t count = std::min(kWordColumns, columns - first);
      std::int8_t* at = to + group * weights.pairs() * 2 * kWordColumns;
      std::fill_n(at, weights.pairs() * 2 * kWordColumns, std::int8_t{0});
      for (std::int64_t l = 0; l < inner; ++l) {
        const std::int8_t* row = numbers.data() + l * columns + first;
        for (std::int64_t j = 0; j < count; ++j) at[(l / 2 * kWordColumns + j) * 2 + l % 2] = row[j];
      }
    }
  });
  return weights;
}

template <class A>
void multiply_words(const A* a, std::int64_t rows, const WordWeights& b, std::int32_t* c) {
  const std::int64_t row_words = b.pairs() * 2;
  std::vector<std::int16_t> words(rows * row_words);
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(a + row * b.inner, b.inner, words.data() + row * row_words);
  const EvenTiles tiles{.things = rows, .at_once = kWordRows};
  parallel_ranges(b.groups(), rows * b.inner * kWordColumns, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t group = begin; group < end; ++group) {
      for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
        with_constant<kWordRows>(tiles.size(tile), [&]<int kRows>(std::integral_constant<int, kRows>) {
          multiply_word_tile<kRows>(words.data(), b, group, tiles.first(tile), c);
        });
      }
    }
  });
}

template void multiply_words(const std::int8_t*, std::int64_t, const WordWeights&, std::int32_t*);
template void multiply_words(const std::uint8_t*, std::int64_t, const WordWeights&, std::int32_t*);

}  // namespace podium::kernels
