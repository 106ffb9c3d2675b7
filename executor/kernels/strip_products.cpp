// A strip is multiplied with up to six rows of x at a time, whose sums stay in registers while the strip goes
// by once. Weights of few bits become floats in registers too, and their scales are applied to the sums of a
// group.
#include "executor/kernels/strip_products.h"

#include <algorithm>
#include <type_traits>

#include "executor/kernels/tools/packed_store.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

// Of weights of few bits in one strip.
struct Group {
  const float* scale = nullptr;
  const float* zero = nullptr;
};

// One row of a strip of few bits, less its zero points.
template <int kBits>
void widen(const std::uint8_t* row, const float* zero, float* wide) {
  if constexpr (kBits == 8) {
#pragma omp simd
    for (std::int64_t j = 0; j < kStrip; ++j)
      wide[j] = static_cast<float>(static_cast<std::int8_t>(row[j])) - zero[j];
  } else {
    constexpr std::int64_t kHalf = kStrip / 2;
#pragma omp simd
    for (std::int64_t j = 0; j < kHalf; ++j) wide[j] = static_cast<float>(row[j] & 15) - zero[j];
#pragma omp simd
    for (std::int64_t j = 0; j < kHalf; ++j)
      wide[kHalf + j] = static_cast<float>(row[j] >> 4) - zero[kHalf + j];
  }
}

// Adds to `sum` the products of rows [first, last) of a strip.
template <int kBits, int kRows>
void add_products(const std::uint8_t* strip, const float* zero, const float* x, std::int64_t inner,
                  std::int64_t first, std::int64_t last, float unit, float (&sum)[kRows][kStrip]) {
  constexpr std::int64_t kBytes = kStrip * kBits / 8;
  for (std::int64_t l = first; l < last; ++l) {
    float few[kBits == 32 ? 1 : kStrip];
    const float* wide = few;
    if constexpr (kBits == 32) {
      wide = reinterpret_cast<const float*>(strip + l * kBytes);
    } else {
      widen<kBits>(strip + l * kBytes, zero, few);
    }
    for (int r = 0; r < kRows; ++r) {
      float factor = x[r * inner + l];
      if constexpr (kBits != 32) factor *= unit;
#pragma omp simd
      for (std::int64_t j = 0; j < kStrip; ++j) sum[r][j] += factor * wide[j];
    }
  }
}

template <int kBits, int kRows>
void multiply_strip(const StripWeights& w, std::int64_t strip, const StripOperands& of) {
  const auto* numbers =
      static_cast<const std::uint8_t*>(w.numbers.raw()) + strip * w.inner * w.bytes_of_row();
  float total[kRows][kStrip] = {};
  if constexpr (kBits == 32) {
    add_products<kBits, kRows>(numbers, nullptr, of.x, w.inner, 0, w.inner, 1, total);
  } else {
    for (std::int64_t group = 0; group < w.groups; ++group) {
      const std::int64_t first = group * w.group;
      const std::int64_t at = (strip * w.groups + group) * kStrip;
      const float* scale = w.scales.data<float>() + at;
      float sum[kRows][kStrip] = {};
      add_products<kBits, kRows>(numbers, w.zero_points.data<float>() + at, of.x, w.inner, first,
                                 std::min(first + w.group, w.inner), w.unit, sum);
      for (int r = 0; r < kRows; ++r) {
#pragma omp simd
        for (std::int64_t j = 0; j < kStrip; ++j) total[r][j] += scale[j] * sum[r][j];
      }
    }
  }
  const std::int64_t column = strip * kStrip;
  const std::int64_t count = std::min(kStrip, w.columns - column);
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t at = r * of.row_y + column;
    for (std::int64_t j = 0; j < count; ++j) {
      float sum = total[r][j];
      if (of.bias != nullptr) sum += of.bias[column + j];
      if (of.addend != nullptr) sum += of.addend[at + j];
      of.y[at + j] = sum;
    }
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
  strips.numbers = kept(context, {.name = "strips", .from = {&weights}, .sizes = {is_transposed ? 1 : 0}},
                        ir::Type::tensor(ir::DataType::Float, {strips.strips(), strips.inner, kStrip}), pack);
  return strips;
}

void multiply_strips(const StripWeights& weights, const StripOperands& operands) {
  const std::int64_t cost = operands.rows * weights.inner * kStrip;
  parallel_ranges(weights.strips(), cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t strip = begin; strip < end; ++strip) {
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
