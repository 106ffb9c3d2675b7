// A float product with weights that stay as narrow as they were quantised, of 8 or 4 bits, so that memory
// gives a quarter or an eighth of the bytes that floats have. They are packed in strips: of unsigned bytes
// 128 is taken off, and off their zero points, and 8 is added to signed numbers of four bits.
#include <algorithm>
#include <array>
#include <cmath>

#include "executor/kernels/fused/fused.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/packed_store.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strip_products.h"

namespace podium::kernels {
namespace {

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

// The power of two below the largest scale, at most 1: a sum of x (number - zero point) might be infinite
// where that of x scale (number - zero point) is not. No x that counts is lost below the smallest float.
float unit_below(const Tensor& scales) {
  float largest = 0;
  for (const float scale : scales.values<float>()) largest = std::max(largest, std::fabs(scale));
  return std::exp2(std::clamp(std::floor(std::log2(largest)), -60.0F, 0.0F));
}

class Packer {
 public:
  Packer(const PrepareContext& context, StripWeights& to) : to_(to) {
    const Tensor& weights = *context.constant(1);
    const ir::DataType type = weights.type();
    const bool transposed = context.get_int("transB") != 0;
    const auto& dims = weights.dims();
    to_.inner = dims[transposed ? 1 : 0];
    to_.columns = dims[transposed ? 0 : 1];
    to_.kind = ir::bit_width(type) == 8 ? StripNumbers::Bytes : StripNumbers::Codes;
    const std::int64_t block = context.get_int("block_size");
    to_.group = block > 0 ? std::min(block, to_.inner) : to_.inner;
    to_.groups = (to_.inner + to_.group - 1) / to_.group;
    const bool is_shifted = of_bytes() ? !ir::is_signed(type) : ir::is_signed(type);
    if (is_shifted) {
      shift_ = of_bytes() ? -128.0F : 8.0F;
      flipped_ = of_bytes() ? 0x80 : 0x08;
    }
    row_step_ = transposed ? 1 : to_.columns;
    column_step_ = transposed ? to_.inner : 1;
    to_.unit = unit_below(*context.constant(2));
    scales_ = of_groups(context.constant(2), transposed, to_.groups, to_.columns);
    zeros_ =
        of_groups(context.has_input(3) ? context.constant(3) : nullptr, transposed, to_.groups, to_.columns);
  }

  void pack(const PrepareContext& context) {
    const Tensor& weights = *context.constant(1);
    const bool is_transposed = context.get_int("transB") != 0;
    const std::int64_t strips = to_.strips();
    to_.scales = Tensor(ir::DataType::Float, {strips, to_.groups, kStrip});
    to_.zero_points = Tensor(ir::DataType::Float, {strips, to_.groups, kStrip});
    parallel_ranges(strips, to_.groups * kStrip, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip) pack_scales(strip);
    });
    shorten_zero_points();
    const ir::Type type = ir::Type::tensor(ir::DataType::Uint8, {strips, to_.inner, to_.bytes_of_row()});
    to_.numbers = kept(
        context,
        {.name = is_transposed ? "transposed strips of few bits" : "strips of few bits", .from = weights},
        type, [&](const Tensor& narrow) { return packed_numbers(narrow, type); });
  }

 private:
  // Alike ones are read from memory once.
  void shorten_zero_points() {
    const auto zeros = std::as_const(to_.zero_points).values<float>();
    if (zeros.empty() || std::ranges::any_of(zeros, [&](float zero) { return zero != zeros[0]; })) return;
    Tensor alike(ir::DataType::Float, {kStrip});
    std::ranges::fill(alike.values<float>(), zeros[0]);
    to_.zero_points = zeros[0] == 0 ? Tensor() : alike;
  }

  bool of_bytes() const { return to_.kind == StripNumbers::Bytes; }

  Tensor packed_numbers(const Tensor& weights, const ir::Type& type) const {
    Tensor numbers(type.element, type.dims);
    const auto* from = static_cast<const std::uint8_t*>(weights.raw());
    auto* to = static_cast<std::uint8_t*>(numbers.raw());
    parallel_ranges(to_.strips(), to_.inner * kStrip, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t strip = begin; strip < end; ++strip)
        pack_strip(from, strip, to + strip * to_.inner * to_.bytes_of_row());
    });
    return numbers;
  }

  void pack_scales(std::int64_t strip) {
    const std::int64_t first = strip * kStrip;
    const std::int64_t count = std::min(kStrip, to_.columns - first);
    const std::int64_t at = strip * to_.groups * kStrip;
    for (std::int64_t group = 0; group < to_.groups; ++group) {
      for (std::int64_t j = 0; j < kStrip; ++j) {
        const bool is_there = j < count;  // one that fills the strip up has a scale of 0
        to_.scales.data<float>()[at + group * kStrip + j] =
            is_there ? scales_.at(group, first + j) / to_.unit : 0.0F;
        to_.zero_points.data<float>()[at + group * kStrip + j] =
            zeros_.at(group, first + (is_there ? j : 0)) + shift_;
      }
    }
  }

  // `from`: a byte each, of four bits too.
  void pack_strip(const std::uint8_t* from, std::int64_t strip, std::uint8_t* to) const {
    const std::int64_t first = strip * kStrip;
    const std::int64_t count = std::min(kStrip, to_.columns - first);
    for (std::int64_t row = 0; row < to_.inner; ++row, to += to_.bytes_of_row()) {
      std::array<std::uint8_t, kStrip> codes{};
      for (std::int64_t j = 0; j < count; ++j)
        codes[j] = from[row * row_step_ + (first + j) * column_step_] ^ flipped_;
      if (of_bytes()) {
        std::ranges::copy(codes, to);
      } else {
        for (std::int64_t j = 0; j < kStrip / 2; ++j)
          to[j] = static_cast<std::uint8_t>((codes[j] & 15) | codes[j + kStrip / 2] << 4);
      }
    }
  }

  StripWeights& to_;
  std::int64_t row_step_ = 0;
  std::int64_t column_step_ = 0;
  PerGroup scales_;
  PerGroup zeros_;
  float shift_ = 0;
  std::uint8_t flipped_ = 0;  // of two's complement, this bit shifts
};

}  // namespace

PreparedKernel prepare_dequantized_matmul(PrepareContext& context) {
  for (std::size_t i = 1; i < 4; ++i)
    IR_CHECK(!context.has_input(i) || context.constant(i), "weights of a fused product are not constant");
  StripWeights weights;
  Packer(context, weights).pack(context);
  const std::int64_t rows = context.input(0).element_count() / weights.inner;
  context.need_scratch(bytes_for_widening(weights, rows));
  return [rows, weights = std::move(weights)](const RunContext& run) {
    multiply_strips(weights, {.x = run.input(0).data<float>(),
                              .rows = rows,
                              .y = run.output(0).data<float>(),
                              .row_y = weights.columns,
                              .bias = run.has_input(4) ? run.input(4).data<float>() : nullptr,
                              .widened = run.scratch<float>()});
  };
}

}  // namespace podium::kernels
