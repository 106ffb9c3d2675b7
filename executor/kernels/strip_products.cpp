// A strip is multiplied with up to six rows of x at a time, whose sums stay in registers while the strip goes
// by once. Weights of few bits become floats in registers too, and their scales are applied to the sums of a
// group.
#include "executor/kernels/strip_products.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "executor/kernels/tools/packed_store.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

#if defined(__AVX512F__)
constexpr std::int64_t kLanes = 16;
#else
constexpr std::int64_t kLanes = 8;
#endif
constexpr std::int64_t kParts = kStrip / kLanes;
using FloatLanes [[gnu::vector_size(kLanes * sizeof(float))]] = float;
using WordLanes [[gnu::vector_size(kLanes * sizeof(std::int32_t))]] = std::int32_t;

// The compiler widens bytes in two steps, with twice as many shuffles as the one that there is for it.
WordLanes signed_bytes(const std::uint8_t* from) {
#if defined(__AVX512F__)
  constexpr __mmask16 kAll = 0xFFFF;
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<WordLanes>(_mm512_maskz_cvtepi8_epi32(kAll, bytes));
#elif defined(__AVX2__)
  return reinterpret_cast<WordLanes>(
      _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
  WordLanes words;
  for (std::int64_t j = 0; j < kLanes; ++j) words[j] = static_cast<std::int8_t>(from[j]);
  return words;
#endif
}

// Codes of 4 bits: part `part` of a row has those of the low halves of its bytes, or of the high ones.
template <int kBits>
WordLanes codes_of(const std::uint8_t* row, std::int64_t part) {
  constexpr std::int64_t kPartsOfAHalf = kParts / 2;
  const bool is_high = kBits == 4 && part >= kPartsOfAHalf;
  const WordLanes words = signed_bytes(row + (is_high ? part - kPartsOfAHalf : part) * kLanes);
  if constexpr (kBits == 8) return words;
  return is_high ? (words >> 4) & 15 : words & 15;
}

// Part `part` of a row of a strip, less its zero points, if there are any.
template <int kBits, bool kHasZeros>
FloatLanes widened(const std::uint8_t* row, const float* zero, std::int64_t part) {
  FloatLanes wide;
  if constexpr (kBits == 32) {
    std::memcpy(&wide, row + part * sizeof wide, sizeof wide);
    return wide;
  }
  wide = __builtin_convertvector(codes_of<kBits>(row, part), FloatLanes);
  if constexpr (kHasZeros) {
    FloatLanes taken_off;
    std::memcpy(&taken_off, zero + part * kLanes, sizeof taken_off);
    wide -= taken_off;
  }
  return wide;
}

// Adds to `sum` the products of rows [first, last) of a strip.
template <int kBits, bool kHasZeros, int kRows>
void add_products(const std::uint8_t* strip, const float* zero, const float* x, std::int64_t inner,
                  std::int64_t first, std::int64_t last, float unit, FloatLanes (&sum)[kRows][kParts]) {
  constexpr std::int64_t kBytes = kStrip * kBits / 8;
  FloatLanes units;
  for (std::int64_t j = 0; j < kLanes; ++j) units[j] = unit;
  for (std::int64_t l = first; l < last; ++l) {
    FloatLanes wide[kParts];
#pragma GCC unroll 8
    for (std::int64_t part = 0; part < kParts; ++part)
      wide[part] = widened<kBits, kHasZeros>(strip + l * kBytes, zero, part);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const float factor = x[r * inner + l];
      if constexpr (kBits == 32) {
#pragma GCC unroll 8
        for (std::int64_t part = 0; part < kParts; ++part) sum[r][part] += factor * wide[part];
      } else {
        const FloatLanes factors = factor * units;
#pragma GCC unroll 8
        for (std::int64_t part = 0; part < kParts; ++part) sum[r][part] += factors * wide[part];
      }
    }
  }
}

template <int kBits, int kRows>
void multiply_strip(const StripWeights& w, std::int64_t strip, const StripOperands& of) {
  const auto* numbers =
      static_cast<const std::uint8_t*>(w.numbers.raw()) + strip * w.inner * w.bytes_of_row();
  FloatLanes total[kRows][kParts] = {};
  if constexpr (kBits == 32) {
    add_products<kBits, false>(numbers, nullptr, of.x, w.inner, 0, w.inner, 1, total);
  } else {
    for (std::int64_t group = 0; group < w.groups; ++group) {
      const std::int64_t first = group * w.group;
      const std::int64_t at = (strip * w.groups + group) * kStrip;
      const float* scale = w.scales.data<float>() + at;
      const std::int64_t last = std::min(first + w.group, w.inner);
      FloatLanes sum[kRows][kParts] = {};
      if (w.zero_points.defined()) {
        add_products<kBits, true>(numbers, w.zero_points.data<float>() + at, of.x, w.inner, first, last,
                                  w.unit, sum);
      } else {
        add_products<kBits, false>(numbers, nullptr, of.x, w.inner, first, last, w.unit, sum);
      }
      for (std::int64_t part = 0; part < kParts; ++part) {
        FloatLanes scales;
        std::memcpy(&scales, scale + part * kLanes, sizeof scales);
        for (int r = 0; r < kRows; ++r) total[r][part] += scales * sum[r][part];
      }
    }
  }
  const std::int64_t column = strip * kStrip;
  const std::int64_t count = std::min(kStrip, w.columns - column);
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t at = r * of.row_y + column;
    float sums[kStrip];
    std::memcpy(sums, total[r], sizeof sums);
    const auto add = [&](const float* addend) {
      for (std::int64_t j = 0; j < count; ++j) sums[j] += addend[j];
    };
    if (of.bias != nullptr) add(of.bias + column);
    if (of.addend != nullptr) add(of.addend + at);
    std::copy_n(sums, count, of.y + at);
  }
}

template <int kBits>
void multiply_rows(const StripWeights& w, std::int64_t strip, const StripOperands& all) {
  std::int64_t row = 0;
  const auto multiply_by = [&]<int kRows>(std::integral_constant<int, kRows>) {
    for (; row + kRows <= all.rows; row += kRows) {
      StripOperands some = all;
      some.x += row * w.inner;
      some.y += row * all.row_y;
      if (all.addend != nullptr) some.addend += row * all.row_y;
      multiply_strip<kBits, kRows>(w, strip, some);
    }
  };
  multiply_by(std::integral_constant<int, 6>());
  multiply_by(std::integral_constant<int, 5>());
  multiply_by(std::integral_constant<int, 4>());
  multiply_by(std::integral_constant<int, 3>());
  multiply_by(std::integral_constant<int, 2>());
  multiply_by(std::integral_constant<int, 1>());
}

// Columns that lie side by side are copied; of rows that do, blocks of a line of the cache are turned.
void pack_strip(const MatrixOfFloats& w, std::int64_t first, float* to) {
  const std::int64_t count = std::min(kStrip, w.columns - first);
  const float* from = w.at + first * w.column_step;
  constexpr std::int64_t kBlock = 16;
  for (std::int64_t block = 0; block < w.inner; block += kBlock) {
    const std::int64_t end = std::min(block + kBlock, w.inner);
    if (w.column_step == 1) {
      for (std::int64_t l = block; l < end; ++l) std::copy_n(from + l * w.row_step, count, to + l * kStrip);
    } else {
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t l = block; l < end; ++l)
          to[l * kStrip + j] = from[l * w.row_step + j * w.column_step];
      }
    }
    for (std::int64_t l = block; count < kStrip && l < end; ++l)
      std::fill(to + l * kStrip + count, to + (l + 1) * kStrip, 0.0F);
  }
}

}  // namespace

std::int64_t floats_of_strips(std::int64_t inner, std::int64_t columns) {
  return (columns + kStrip - 1) / kStrip * kStrip * inner;
}

StripWeights strips_of(const MatrixOfFloats& weights, float* memory) {
  StripWeights strips{.inner = weights.inner, .columns = weights.columns};
  const ir::Dims dims{strips.strips(), weights.inner, kStrip};
  strips.numbers = memory == nullptr ? ir::Tensor(ir::DataType::Float, dims)
                                     : ir::Tensor::adopt(ir::DataType::Float, dims, memory, nullptr);
  auto* to = static_cast<float*>(strips.numbers.raw());
  parallel_ranges(strips.strips(), weights.inner * kStrip, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip)
      pack_strip(weights, strip * kStrip, to + strip * weights.inner * kStrip);
  });
  return strips;
}

StripWeights strips_of(const PrepareContext& context, const ir::Tensor& weights, StripSource source) {
  const bool is_transposed = source == StripSource::Transposed;
  StripWeights strips{.inner = weights.dim(is_transposed ? 1 : 0),
                      .columns = weights.dim(is_transposed ? 0 : 1)};
  const auto pack = [&] {
    const auto* at = weights.data<float>();
    return strips_of(is_transposed ? MatrixOfFloats::transposed(at, strips.inner, strips.columns)
                                   : MatrixOfFloats::plain(at, strips.inner, strips.columns))
        .numbers;
  };
  strips.numbers = kept(context, {.name = is_transposed ? "transposed strips" : "strips", .from = weights},
                        ir::Type::tensor(ir::DataType::Float, {strips.strips(), strips.inner, kStrip}), pack);
  return strips;
}

void multiply_strips(const StripWeights& weights, const StripOperands& operands, StripOrder order) {
  const std::int64_t cost = operands.rows * weights.inner * kStrip;
  parallel_ranges(weights.strips(), cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t strip = order == StripOrder::Forth ? i : end - 1 - (i - begin);
      if (weights.bits == 32) {
        multiply_rows<32>(weights, strip, operands);
      } else if (weights.bits == 8) {
        multiply_rows<8>(weights, strip, operands);
      } else {
        multiply_rows<4>(weights, strip, operands);
      }
    }
  });
}

}  // namespace podium::kernels
