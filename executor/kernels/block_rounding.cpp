// Numbers divided by their block's power of two are below 512, and are rounded in two ways, of which each
// takes its own: from 2^-6 on to 3 bits behind the first one, by an addition to the bits; below to multiples
// of 2^-9, by adding and taking away a number so large that its last bit is worth that. Both round half to
// even.
#include "executor/kernels/block_rounding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/widened.h"
#include "ir/ops/block_rounding.h"

namespace podium::kernels {
namespace {

using ir::kRoundedBlock;

// To float8e4m3fn and back; |value| < 512.
float as_eight_bits(float value) {
  constexpr float kLargest = 448;
  constexpr float kSmallestNormal = 0x1p-6F;
  constexpr float kRounder = 0x1.8p14F;  // its last bit is 2^-9
  constexpr std::uint32_t kKept = 0xFFF00000U;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float normal = std::bit_cast<float>((bits + 0x7FFFFU + ((bits >> 20U) & 1U)) & kKept);
  const float subnormal = std::copysign((value + kRounder) - kRounder, value);
  const float rounded = std::abs(value) < kSmallestNormal ? subnormal : normal;
  return std::clamp(rounded, -kLargest, kLargest);
}

// Scale and its inverse of a block whose largest magnitude is known.
struct Power {
  float by = 1;
  float back = 1;
};

Power power_of(float largest) {
  constexpr int kLargestExponent = 8;  // of float8e4m3fn
  constexpr int kLeast = -127;         // of float8e8m0
  const int exponent = largest == 0 ? 0 : std::max(kLeast, std::ilogb(largest) - kLargestExponent);
  return {std::ldexp(1.0F, -exponent), std::ldexp(1.0F, exponent)};
}

// Columns that lie side by side are computed together.
constexpr std::int64_t kColumns = 16;

void round_columns(const float* x, float* y, std::int64_t rows, std::int64_t stride, std::int64_t columns) {
  std::array<float, kColumns> largest{};
  std::array<bool, kColumns> is_finite{};
  is_finite.fill(true);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const float magnitude = std::abs(x[row * stride + i]);
      is_finite[i] = is_finite[i] && magnitude <= std::numeric_limits<float>::max();
      largest[i] = std::max(largest[i], magnitude);
    }
  }
  std::array<Power, kColumns> powers;
  for (std::int64_t i = 0; i < columns; ++i) powers[i] = is_finite[i] ? power_of(largest[i]) : Power{};
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      const float value = x[row * stride + i];
      y[row * stride + i] = is_finite[i] ? as_eight_bits(value * powers[i].by) * powers[i].back : value;
    }
  }
}

PreparedKernel prepare_round_to_blocks(PrepareContext& context) {
  const Dims& dims = context.dims(0);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), std::ssize(dims));
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  for (std::int64_t i = 0; i < axis; ++i) outer *= dims[i];
  for (std::int64_t i = axis + 1; i < std::ssize(dims); ++i) inner *= dims[i];
  return [outer, inner, count = dims[axis]](const RunContext& run) {
    round_to_blocks(run.input(0).data<float>(), run.output(0).data<float>(), outer, count, inner);
  };
}

}  // namespace

void round_to_blocks(const float* x, float* y, std::int64_t outer, std::int64_t count, std::int64_t inner) {
  const std::int64_t blocks = (count + kRoundedBlock - 1) / kRoundedBlock;
  parallel_ranges(outer * blocks, kRoundedBlock * inner * 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      const std::int64_t row = piece % blocks * kRoundedBlock;
      const std::int64_t rows = std::min(kRoundedBlock, count - row);
      const std::int64_t first = (piece / blocks * count + row) * inner;
      if (inner == 1) {
        // With a stride and a width that the compiler knows, numbers of one column are rounded side by side.
        round_columns(x + first, y + first, rows, 1, 1);
        continue;
      }
      for (std::int64_t column = 0; column < inner; column += kColumns) {
        round_columns(x + first + column, y + first + column, rows, inner,
                      std::min(kColumns, inner - column));
      }
    }
  });
}

std::span<const KernelSpec> block_rounding_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "RoundToBlocks", .prepare = widened<prepare_round_to_blocks>, .domain = "podium"}};
  return kKernels;
}

}  // namespace podium::kernels
