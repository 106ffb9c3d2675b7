// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear. Numbers are computed in float, by blocks.
// The scale may be one number, one per entry of an axis, or one per block of entries: ScaleRows sees each
// case as rows along which the scale either stays or goes along, and hands out pieces of at most kBlock
// elements. Quantizing is: widen, divide in the precision asked for, round half to even, add the zero point,
// clamp, narrow.
#include <cmath>
#include <limits>
#include <span>

#include "executor/kernels/cast.h"
#include "executor/kernels/families.h"
#include "executor/kernels/quantize.h"
#include "executor/kernels/tools/elementwise.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

// The tensor as rows along which the scale either stays (step 0) or goes along (step 1).
class ScaleRows {
 public:
  explicit ScaleRows(const PrepareContext& context) {
    const Dims& x = context.dims(0);
    if (context.input(1).element_count() == 1 || x.empty()) {
      row_ = context.input(0).element_count();
      return;
    }
    const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), std::ssize(x));
    for (std::int64_t i = 0; i < axis; ++i) outer_ *= x[i];
    for (std::int64_t i = axis + 1; i < std::ssize(x); ++i) inner_ *= x[i];
    length_ = x[axis];
    block_ = context.get_int("block_size");
    blocked_ = block_ > 0;
    if (!blocked_) block_ = 1;
    blocks_ = (length_ + block_ - 1) / block_;
    if (inner_ == 1) {
      // Along the axis: block by block, or all of it beside as many scales.
      rows_ = blocked_ ? outer_ * blocks_ : outer_;
      row_ = blocked_ ? block_ : length_;
      step_ = blocked_ ? 0 : 1;
    } else {
      rows_ = outer_ * length_;
      row_ = inner_;
      step_ = blocked_ ? 1 : 0;
    }
  }

  std::int64_t step() const { return step_; }

  /// Calls body(first element, first scale, count) for parts of rows of at most kBlock elements.
  template <class Body>
  void for_each(const Body& body) const {
    parallel_ranges(rows_, row_ * 4, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) visit(row, body);
    });
  }

 private:
  template <class Body>
  void visit(std::int64_t row, const Body& body) const {
    std::int64_t first = row * row_;
    std::int64_t scale = 0;
    std::int64_t left = row_;
    if (inner_ == 1 && blocked_) {
      const std::int64_t start = row % blocks_ * block_;
      first = row / blocks_ * length_ + start;
      scale = row;
      left = std::min(block_, length_ - start);  // the last block may be cut
    } else if (inner_ != 1) {
      scale = blocked_ ? (row / length_ * blocks_ + row % length_ / block_) * inner_ : row % length_;
    }
    while (left > 0) {
      const std::int64_t count = std::min(left, kBlock);
      body(first, scale, count);
      first += count;
      scale += count * step_;
      left -= count;
    }
  }

  std::int64_t outer_ = 1;
  std::int64_t length_ = 1;
  std::int64_t inner_ = 1;
  std::int64_t block_ = 1;
  std::int64_t blocks_ = 1;
  bool blocked_ = false;
  std::int64_t rows_ = 1;
  std::int64_t row_ = 1;
  std::int64_t step_ = 0;
};

// The zero points; without the input, a zero for each scale.
Tensor zero_points(const RunContext& run) {
  if (run.has_input(2)) return as_float(run.input(2));
  Tensor zeros(DataType::Float, run.input(1).dims());
  std::fill_n(zeros.data<float>(), zeros.size(), 0.0F);
  return zeros;
}

void round_to(DataType type, float* values, std::int64_t count) {
  Tensor narrow(type, {count});
  from_float(values, narrow, 0, count);
  to_float(narrow, 0, count, values);
}

struct QuantizedRange {
  float low;
  float high;
};

QuantizedRange range_of(DataType type) {
  const int bits = ir::bit_width(type);
  const auto count = static_cast<float>(1 << bits);
  return ir::is_signed(type) ? QuantizedRange{-count / 2, count / 2 - 1} : QuantizedRange{0, count - 1};
}

// x / scale in the precision asked for, for one part of a row.
void divide(float* x, const float* scale, std::int64_t step, std::int64_t count, DataType precision) {
  const bool narrow = precision != DataType::Float;
  if (narrow) round_to(precision, x, count);
  if (step == 0) {
    const float one = *scale;
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) x[i] /= one;
  } else {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) x[i] /= scale[i];
  }
  if (narrow) round_to(precision, x, count);
}

// Rounds half to even, adds the zero point and stays in range; NaN becomes the lowest number.
void round_and_shift(float* x, const float* zero, std::int64_t step, std::int64_t count,
                     QuantizedRange range) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    const float shifted = std::nearbyint(x[i]) + zero[i * step];
    const float above = shifted > range.low ? shifted : range.low;
    x[i] = above < range.high ? above : range.high;
  }
}

template <std::int64_t kStep, class Byte>
void dequantize_bytes(const Byte* x, Scale scale, std::int64_t count, float* y) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i)
    y[i] = (static_cast<float>(x[i]) - scale.zero[i * kStep]) * scale.factor[i * kStep];
}

// Calls use(a number of the type of bytes), and tells whether it is one.
template <class Use>
bool of_bytes(DataType type, const Use& use) {
  if (type == DataType::Int8) {
    use(std::int8_t{});
  } else if (type == DataType::Uint8) {
    use(std::uint8_t{});
  } else {
    return false;
  }
  return true;
}

// False where the types are others.
bool quantized_in_one_pass(const RunContext& run, Scale scale, std::int64_t step, std::int64_t first,
                           std::int64_t count) {
  if (run.input(0).type() != DataType::Float) return false;
  const float* x = run.input(0).data<float>() + first;
  return of_bytes(run.output(0).type(), [&](auto tag) {
    auto* y = run.output(0).data<decltype(tag)>() + first;
    step == 0 ? quantize_floats<0>(x, scale, count, y) : quantize_floats<1>(x, scale, count, y);
  });
}

bool dequantized_in_one_pass(const RunContext& run, Scale scale, std::int64_t step, std::int64_t first,
                             std::int64_t count) {
  if (run.output(0).type() != DataType::Float) return false;
  float* y = run.output(0).data<float>() + first;
  return of_bytes(run.input(0).type(), [&](auto tag) {
    const auto* x = run.input(0).data<decltype(tag)>() + first;
    step == 0 ? dequantize_bytes<0>(x, scale, count, y) : dequantize_bytes<1>(x, scale, count, y);
  });
}

DataType division_precision(const PrepareContext& context) {
  const std::int64_t given = context.get_int("precision");
  const DataType type = given != 0 ? static_cast<DataType>(given) : context.element(1);
  const bool narrow = type == DataType::Float16 || type == DataType::Bfloat16;
  return narrow ? type : DataType::Float;
}

PreparedKernel quantize(PrepareContext& context) {
  const DataType precision = division_precision(context);
  const CastOptions options{.saturate = context.get_int("saturate") != 0};
  return [rows = ScaleRows(context), precision, options](const RunContext& run) {
    Tensor scales = as_float(run.input(1));
    if (precision != DataType::Float && run.input(1).type() != precision) {
      scales = scales.clone();
      round_to(precision, scales.data<float>(), scales.size());
    }
    const Tensor zeros = zero_points(run);
    Tensor& y = run.output(0);
    const bool to_integer = ir::is_integer(y.type());
    rows.for_each([&](std::int64_t first, std::int64_t scale, std::int64_t count) {
      const Scale of_part{std::as_const(scales).data<float>() + scale, zeros.data<float>() + scale};
      if (precision == DataType::Float && quantized_in_one_pass(run, of_part, rows.step(), first, count))
        return;
      float block[kBlock];
      to_float(run.input(0), first, count, block);
      divide(block, std::as_const(scales).data<float>() + scale, rows.step(), count, precision);
      const float* zero = zeros.data<float>() + scale;
      if (to_integer) {
        round_and_shift(block, zero, rows.step(), count, range_of(y.type()));
      } else if (y.type() == DataType::Float4E2M1) {
        for (std::int64_t i = 0; i < count; ++i) block[i] += zero[i * rows.step()];
      }
      Tensor part = Tensor::view(DataType::Float, {count}, block);
      Tensor target =
          Tensor::view(y.type(), {count}, static_cast<std::byte*>(y.raw()) + first * storage_bytes(y.type()));
      convert_numbers(part, target, 0, count, options);
    });
  };
}

// 32-bit integers are not exact in float, so they meet their zero point in double.
void subtract_zero(const Tensor& x, std::int64_t first, const float* zero, std::int64_t step,
                   std::int64_t count, float* out) {
  if (x.type() == DataType::Int32) {
    const std::int32_t* numbers = x.data<std::int32_t>() + first;
    for (std::int64_t i = 0; i < count; ++i) {
      out[i] = static_cast<float>(static_cast<double>(numbers[i]) - static_cast<double>(zero[i * step]));
    }
    return;
  }
  to_float(x, first, count, out);
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) out[i] -= zero[i * step];
}

PreparedKernel dequantize(PrepareContext& context) {
  return [rows = ScaleRows(context)](const RunContext& run) {
    const Tensor scales = as_float(run.input(1));
    const Tensor zeros = zero_points(run);
    rows.for_each([&](std::int64_t first, std::int64_t scale, std::int64_t count) {
      const Scale of_part{scales.data<float>() + scale, zeros.data<float>() + scale};
      if (dequantized_in_one_pass(run, of_part, rows.step(), first, count)) return;
      float block[kBlock];
      subtract_zero(run.input(0), first, zeros.data<float>() + scale, rows.step(), count, block);
      const float* factor = scales.data<float>() + scale;
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) block[i] *= factor[i * rows.step()];
      from_float(block, run.output(0), first, count);
    });
  };
}

QuantizedRange range_with_zero(std::span<const float> x) {
  constexpr std::int64_t kLanes = 16;
  float low[kLanes] = {};
  float high[kLanes] = {};
  const auto take = [&](const float* values, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      low[i] = values[i] < low[i] ? values[i] : low[i];
      high[i] = values[i] > high[i] ? values[i] : high[i];
    }
  };
  std::size_t at = 0;
  for (; at + kLanes <= x.size(); at += kLanes) take(x.data() + at, kLanes);
  take(x.data() + at, static_cast<std::int64_t>(x.size() - at));
  return {*std::min_element(low, low + kLanes), *std::max_element(high, high + kLanes)};
}

// Numbers that a thread looks at in one go.
constexpr std::int64_t kDynamicPiece = 1 << 14;

// The range of the numbers, extended to 0, which the quantized type must be able to express. NaN is none.
QuantizedRange range_of_pieces(std::span<const float> x) {
  const std::int64_t pieces = (std::ssize(x) + kDynamicPiece - 1) / kDynamicPiece;
  std::vector<QuantizedRange> ranges(pieces);
  parallel_ranges(pieces, kDynamicPiece, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i * kDynamicPiece;
      ranges[i] = range_with_zero(x.subspan(first, std::min(kDynamicPiece, std::ssize(x) - first)));
    }
  });
  QuantizedRange all{0, 0};
  for (const QuantizedRange& range : ranges) {
    all = {std::min(all.low, range.low), std::max(all.high, range.high)};
  }
  return all;
}

void dynamic_quantize(const RunContext& run) {
  const std::span<const float> x = run.input(0).values<float>();
  const QuantizedRange range = range_of_pieces(x);
  const float width = range.high == range.low ? 1.0F : range.high - range.low;
  const float scale = width / 255.0F;
  const float zero = std::nearbyint(std::clamp(-range.low / scale, 0.0F, 255.0F));
  if (run.has_output(1)) *run.output(1).data<float>() = scale;
  if (run.has_output(2)) *run.output(2).data<std::uint8_t>() = static_cast<std::uint8_t>(zero);
  if (!run.has_output(0)) return;
  std::uint8_t* y = run.output(0).data<std::uint8_t>();
  parallel_ranges(std::ssize(x), sizeof(float), [&](std::int64_t begin, std::int64_t end) {
    quantize_floats<0>(x.data() + begin, {&scale, &zero}, end - begin, y + begin);
  });
}

}  // namespace

std::span<const KernelSpec> quantize_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "QuantizeLinear", .prepare = quantize},
      {.name = "DequantizeLinear", .prepare = dequantize},
      {.name = "DynamicQuantizeLinear",
       .prepare = [](PrepareContext& /*context*/) { return PreparedKernel(dynamic_quantize); }},
  };
  return kKernels;
}

}  // namespace podium::kernels
