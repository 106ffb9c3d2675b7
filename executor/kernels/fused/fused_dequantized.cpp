// A float product with weights that stay as narrow as they were quantised. They become floats in registers,
// so that memory gives a quarter or an eighth of the bytes that floats have. With scales s and zero points z
// of groups g of rows of the weights:
//
//   y[r, j] = sum over g of s[g, j] (sum over l in g of x[r, l] w[l, j]  -  z[g, j] sum over l in g of x[r,
//   l])
//
// Weights lie in strips of 64 columns, row by row. A row of a strip is 64 signed bytes (128 has been taken
// off unsigned ones, and off their zero points), or 32 bytes of two unsigned numbers of four bits (8 has been
// added to signed ones): column j in the low half of byte j, column j + 32 in its high half. A strip's scales
// and zero points lie as 64 floats for each group. Columns that fill up the last strip have scale 0.
#include <algorithm>
#include <array>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

constexpr std::int64_t kStrip = 64;

struct NarrowWeights {
  std::int64_t inner = 0;    ///< rows of the weights
  std::int64_t columns = 0;  ///< of the weights
  std::int64_t group = 0;    ///< rows that share scales; the last group may have fewer
  std::int64_t groups = 0;
  int bits = 8;
  bool has_bias = false;
  Tensor numbers = {};      ///< [strip, row, bytes of a row]
  Tensor scales = {};       ///< [strip, group, 64]
  Tensor zero_points = {};  ///< [strip, group, 64], as floats

  std::int64_t strips() const { return (columns + kStrip - 1) / kStrip; }
  std::int64_t bytes_of_row() const { return kStrip * bits / 8; }
  const std::uint8_t* strip(std::int64_t i) const {
    return static_cast<const std::uint8_t*>(numbers.raw()) + i * inner * bytes_of_row();
  }
};

// The model's scales or zero points.
struct PerGroup {
  const Tensor* tensor = nullptr;  ///< nullptr: zeros
  std::int64_t group_step = 0;     ///< elements
  std::int64_t column_step = 0;

  float at(std::int64_t group, std::int64_t column) const {
    float value = 0;
    if (tensor != nullptr) to_float(*tensor, group * group_step + column * column_step, 1, &value);
    return value;
  }
};

// They have one number, one a column, or one a group and column.
PerGroup of_groups(const Tensor* tensor, bool transposed, std::int64_t groups, std::int64_t columns) {
  if (tensor == nullptr || tensor->size() == 1) return {tensor};
  if (tensor->rank() == 1) return {tensor, 0, 1};
  return transposed ? PerGroup{tensor, 1, groups} : PerGroup{tensor, columns, 1};
}

class Packer {
 public:
  Packer(const PrepareContext& context, NarrowWeights& to) : to_(to) {
    const Tensor& weights = *context.constant(1);
    const ir::DataType type = weights.type();
    const bool transposed = context.get_int("transB") != 0;
    const auto& dims = weights.dims();
    to_.inner = dims[transposed ? 1 : 0];
    to_.columns = dims[transposed ? 0 : 1];
    to_.bits = ir::bit_width(type);
    const std::int64_t block = context.get_int("block_size");
    to_.group = block > 0 ? std::min(block, to_.inner) : to_.inner;
    to_.groups = (to_.inner + to_.group - 1) / to_.group;
    const bool is_shifted = to_.bits == 8 ? !ir::is_signed(type) : ir::is_signed(type);
    if (is_shifted) {
      shift_ = to_.bits == 8 ? -128.0F : 8.0F;
      flipped_ = to_.bits == 8 ? 0x80 : 0x08;
    }
    weights_ = static_cast<const std::uint8_t*>(weights.raw());
    row_step_ = transposed ? 1 : to_.columns;
    column_step_ = transposed ? to_.inner : 1;
    scales_ = of_groups(context.constant(2), transposed, to_.groups, to_.columns);
    zeros_ =
        of_groups(context.has_input(3) ? context.constant(3) : nullptr, transposed, to_.groups, to_.columns);
  }

  void pack() {
    const std::int64_t strips = to_.strips();
    to_.numbers = Tensor(ir::DataType::Uint8, {strips, to_.inner, to_.bytes_of_row()});
    to_.scales = Tensor(ir::DataType::Float, {strips, to_.groups, kStrip});
    to_.zero_points = Tensor(ir::DataType::Float, {strips, to_.groups, kStrip});
    parallel_ranges(strips, to_.inner * kStrip, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip) pack_strip(strip);
    });
  }

 private:
  void pack_strip(std::int64_t strip) {
    const std::int64_t first = strip * kStrip;
    const std::int64_t count = std::min(kStrip, to_.columns - first);
    const std::int64_t at = strip * to_.groups * kStrip;
    for (std::int64_t group = 0; group < to_.groups; ++group) {
      for (std::int64_t j = 0; j < kStrip; ++j) {
        const bool is_there = j < count;
        to_.scales.data<float>()[at + group * kStrip + j] = is_there ? scales_.at(group, first + j) : 0.0F;
        to_.zero_points.data<float>()[at + group * kStrip + j] =
            is_there ? zeros_.at(group, first + j) + shift_ : 0.0F;
      }
    }
    auto* to = static_cast<std::uint8_t*>(to_.numbers.raw()) + strip * to_.inner * to_.bytes_of_row();
    for (std::int64_t row = 0; row < to_.inner; ++row, to += to_.bytes_of_row()) {
      std::array<std::uint8_t, kStrip> codes{};
      for (std::int64_t j = 0; j < count; ++j)
        codes[j] = weights_[row * row_step_ + (first + j) * column_step_] ^ flipped_;
      if (to_.bits == 8) {
        std::ranges::copy(codes, to);
      } else {
        for (std::int64_t j = 0; j < kStrip / 2; ++j)
          to[j] = static_cast<std::uint8_t>((codes[j] & 15) | codes[j + kStrip / 2] << 4);
      }
    }
  }

  NarrowWeights& to_;
  const std::uint8_t* weights_ = nullptr;  // a byte each, of four bits too
  std::int64_t row_step_ = 0;
  std::int64_t column_step_ = 0;
  PerGroup scales_;
  PerGroup zeros_;
  float shift_ = 0;
  std::uint8_t flipped_ = 0;  // of two's complement, this bit shifts
};

// One row of a strip less zero points, as floats.
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

struct Rows {
  const float* x = nullptr;
  float* y = nullptr;
  const float* bias = nullptr;  ///< [column], where there is one
};

// So many rows of y in the columns of a strip: the sums stay in registers.
template <int kBits, int kRows>
void multiply_strip(const NarrowWeights& w, std::int64_t strip, const Rows& rows) {
  constexpr std::int64_t kBytes = kStrip * kBits / 8;
  const std::uint8_t* numbers = w.strip(strip);
  float total[kRows][kStrip] = {};
  for (std::int64_t group = 0; group < w.groups; ++group) {
    const std::int64_t first = group * w.group;
    const std::int64_t last = std::min(first + w.group, w.inner);
    const std::int64_t at = (strip * w.groups + group) * kStrip;
    const float* scale = w.scales.data<float>() + at;
    const float* zero = w.zero_points.data<float>() + at;
    float sum[kRows][kStrip] = {};
    for (std::int64_t l = first; l < last; ++l) {
      float wide[kStrip];
      widen<kBits>(numbers + l * kBytes, zero, wide);
      for (int r = 0; r < kRows; ++r) {
        const float factor = rows.x[r * w.inner + l];
#pragma omp simd
        for (std::int64_t j = 0; j < kStrip; ++j) sum[r][j] += factor * wide[j];
      }
    }
    for (int r = 0; r < kRows; ++r) {
#pragma omp simd
      for (std::int64_t j = 0; j < kStrip; ++j) total[r][j] += scale[j] * sum[r][j];
    }
  }
  const std::int64_t count = std::min(kStrip, w.columns - strip * kStrip);
  for (int r = 0; r < kRows; ++r) {
    float* y = rows.y + r * w.columns + strip * kStrip;
    for (std::int64_t j = 0; j < count; ++j)
      y[j] = w.has_bias ? total[r][j] + rows.bias[strip * kStrip + j] : total[r][j];
  }
}

template <int kBits>
void multiply_rows(const NarrowWeights& w, std::int64_t strip, std::int64_t count, const Rows& rows) {
  std::int64_t row = 0;
  const auto multiply_by = [&]<int kRows>(std::integral_constant<int, kRows>) {
    for (; row + kRows <= count; row += kRows)
      multiply_strip<kBits, kRows>(w, strip, {rows.x + row * w.inner, rows.y + row * w.columns, rows.bias});
  };
  multiply_by(std::integral_constant<int, 6>());
  multiply_by(std::integral_constant<int, 2>());
  multiply_by(std::integral_constant<int, 1>());
}

}  // namespace

PreparedKernel prepare_dequantized_matmul(PrepareContext& context) {
  for (std::size_t i = 1; i < 4; ++i)
    IR_CHECK(!context.has_input(i) || context.constant(i), "weights of a fused product are not constant");
  NarrowWeights weights;
  Packer(context, weights).pack();
  weights.has_bias = context.has_input(4);
  const std::int64_t rows = context.input(0).element_count() / weights.inner;
  return [rows, weights = std::move(weights)](const RunContext& run) {
    const Rows all{run.input(0).data<float>(), run.output(0).data<float>(),
                   weights.has_bias ? run.input(4).data<float>() : nullptr};
    const std::int64_t cost = rows * weights.inner * kStrip;
    parallel_ranges(weights.strips(), cost, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip) {
        if (weights.bits == 8) {
          multiply_rows<8>(weights, strip, rows, all);
        } else {
          multiply_rows<4>(weights, strip, rows, all);
        }
      }
    });
  };
}

}  // namespace podium::kernels
