// ConvInteger and QLinearConv: products of bytes, zero points taken off afterwards.
// For each group of each image, and a stretch of output lines that fits the cache: unfold the windows of X
// into columns [in_channels x kernel, width] (padding becomes the zero point), multiply bytes by the weights
// into int32 sums, and correct with  sum (x - a)(w - b) = sum xw - a sum w - b sum x + depth a b  modulo
// 2^32. ConvInteger copies the sums out; QLinearConv multiplies them by x_scale w_scale / y_scale and rounds.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "executor/kernels/conv.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/parallel.h"

namespace podium::kernels {
namespace {

struct IntegerConv {
  ConvShape shape;
  Columns columns;
  std::int64_t lines_at_once = 1;

  std::int64_t width() const { return lines_at_once * columns.line_size(); }
  std::int64_t channels() const { return shape.group * shape.out_channels; }
};

// A stretch of the sums of one group of one image: [out_channels, width] into columns from `position` on.
struct Block {
  std::int64_t image = 0;
  std::int64_t first_channel = 0;
  std::int64_t position = 0;
  std::int64_t width = 0;
  const std::int32_t* sums = nullptr;
};

std::int32_t byte_at(const Tensor& tensor, std::int64_t i) {
  return tensor.type() == DataType::Int8 ? tensor.data<std::int8_t>()[i] : tensor.data<std::uint8_t>()[i];
}

// One number for each of `count` from a tensor with one or `count`.
std::vector<std::int32_t> zero_points(const Tensor* tensor, std::int64_t count) {
  std::vector<std::int32_t> result(count, 0);
  if (tensor == nullptr) return result;
  for (std::int64_t i = 0; i < count; ++i) {
    result[i] = byte_at(*tensor, tensor->size() == 1 ? 0 : i);
  }
  return result;
}

template <class T>
std::vector<std::int32_t> row_sums(const T* matrix, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int32_t> sums(rows, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) {
      sums[row] += matrix[row * columns + i];
    }
  }
  return sums;
}

template <class T>
std::vector<std::int32_t> column_sums(const T* matrix, std::int64_t rows, std::int64_t columns) {
  std::vector<std::int32_t> sums(columns, 0);
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) sums[i] += matrix[row * columns + i];
  }
  return sums;
}

template <class X, class W>
class ByteConv {
 public:
  ByteConv(const IntegerConv& conv, const RunContext& run, const Tensor& weights, const Tensor* x_zero,
           const Tensor* w_zero)
      : conv_(conv),
        x_(run.input(0).data<X>()),
        weights_(weights.data<W>()),
        x_zero_(x_zero == nullptr ? 0 : byte_at(*x_zero, 0)),
        w_zeros_(zero_points(w_zero, conv.channels())),
        w_sums_(row_sums(weights_, conv.channels(), conv.shape.depth())),
        sums_(run.scratch<std::int32_t>()),
        columns_(reinterpret_cast<X*>(sums_ + conv.shape.out_channels * conv.width())) {}

  /// Calls `use` with every block of sums of (x - x_zero) * (w - w_zero).
  template <class Use>
  void run(const Use& use) const {
    const ConvShape& shape = conv_.shape;
    for (std::int64_t i = 0; i < shape.batch * shape.group; ++i) {
      for (std::int64_t line = 0; line < conv_.columns.lines(); line += conv_.lines_at_once) {
        const std::int64_t end = std::min(line + conv_.lines_at_once, conv_.columns.lines());
        Block block{.image = i / shape.group,
                    .first_channel = i % shape.group * shape.out_channels,
                    .position = line * conv_.columns.line_size(),
                    .width = (end - line) * conv_.columns.line_size(),
                    .sums = sums_};
        gather(x_ + i * shape.in_channels * shape.in_size, line, end, block.width);
        const Product product{.m = shape.out_channels, .n = block.width, .k = shape.depth()};
        multiply_bytes(product, weights_ + block.first_channel * shape.depth(), columns_, sums_);
        take_off_zeros(block);
        use(block);
      }
    }
  }

 private:
  // Padding has the value that stands for zero.
  void gather(const X* x, std::int64_t line, std::int64_t end, std::int64_t width) const {
    const ConvShape& shape = conv_.shape;
    parallel_ranges(shape.in_channels, shape.kernel_size * width, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t c = first; c < last; ++c) {
        conv_.columns.gather(x + c * shape.in_size, static_cast<X>(x_zero_), line, end,
                             columns_ + c * shape.kernel_size * width, width);
      }
    });
  }

  // sum (x - a)(w - b) = sum x w - a sum w - b sum x + depth a b, all of it wrapping like the products.
  void take_off_zeros(const Block& block) const {
    const ConvShape& shape = conv_.shape;
    const auto a = static_cast<std::uint32_t>(x_zero_);
    std::vector<std::int32_t> x_sums(block.width, 0);
    const auto zeros = w_zeros_.begin() + block.first_channel;
    if (std::any_of(zeros, zeros + shape.out_channels, [](std::int32_t zero) { return zero != 0; })) {
      x_sums = column_sums(columns_, shape.depth(), block.width);
    }
    for (std::int64_t m = 0; m < shape.out_channels; ++m) {
      const std::int64_t channel = block.first_channel + m;
      const auto b = static_cast<std::uint32_t>(w_zeros_[channel]);
      if (a == 0 && b == 0) continue;
      const std::uint32_t constant = static_cast<std::uint32_t>(shape.depth()) * a * b -
                                     a * static_cast<std::uint32_t>(w_sums_[channel]);
      std::int32_t* row = sums_ + m * block.width;
      for (std::int64_t i = 0; i < block.width; ++i) {
        const auto x_sum = static_cast<std::uint32_t>(x_sums[i]);
        row[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(row[i]) + constant - b * x_sum);
      }
    }
  }

  const IntegerConv& conv_;
  const X* x_;
  const W* weights_;
  std::int32_t x_zero_;
  std::vector<std::int32_t> w_zeros_;
  std::vector<std::int32_t> w_sums_;
  std::int32_t* sums_;
  X* columns_;
};

std::shared_ptr<const IntegerConv> plan_integer(PrepareContext& context, std::size_t w) {
  constexpr std::int64_t kBlockBytes = 1 << 20;
  const ConvShape shape = ir::conv_shape(context, w);
  IntegerConv conv{shape, Columns(shape.window)};
  const std::int64_t line_bytes = (shape.depth() + 4 * shape.out_channels) * conv.columns.line_size();
  conv.lines_at_once = std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(line_bytes, 1), 1,
                                                std::max<std::int64_t>(conv.columns.lines(), 1));
  context.need_scratch((shape.depth() + 4 * shape.out_channels) * conv.width());
  return std::make_shared<const IntegerConv>(std::move(conv));
}

const Tensor* tensor_or_null(const RunContext& run, std::size_t i) {
  return run.has_input(i) ? &run.input(i) : nullptr;
}

// Where row m of a block starts in a tensor of the output's shape.
std::int64_t output_at(const IntegerConv& conv, const Block& block, std::int64_t m) {
  return (block.image * conv.channels() + block.first_channel + m) * conv.shape.out_size + block.position;
}

template <class X, class W>
void run_conv_integer(const IntegerConv& conv, const RunContext& run) {
  std::int32_t* y = run.output(0).data<std::int32_t>();
  const ByteConv<X, W> bytes(conv, run, run.input(1), tensor_or_null(run, 2), tensor_or_null(run, 3));
  bytes.run([&](const Block& block) {
    for (std::int64_t m = 0; m < conv.shape.out_channels; ++m) {
      std::copy_n(block.sums + m * block.width, block.width, y + output_at(conv, block, m));
    }
  });
}

// For each output channel: the bias that is added to its sums, and the factor that they are then multiplied
// by.
struct Requantization {
  std::vector<double> factors;
  std::vector<std::int32_t> bias;
  std::int32_t zero = 0;
};

Requantization read_requantization(const IntegerConv& conv, const RunContext& run) {
  const auto one_of = [](const Tensor& tensor, std::int64_t i) {
    return tensor.data<float>()[tensor.size() == 1 ? 0 : i];
  };
  Requantization result{.factors = {}, .bias = {}, .zero = byte_at(run.input(7), 0)};
  for (std::int64_t m = 0; m < conv.channels(); ++m) {
    result.factors.push_back(
        static_cast<double>(one_of(run.input(1), 0) * one_of(run.input(4), m) / one_of(run.input(6), 0)));
    result.bias.push_back(run.has_input(8) ? run.input(8).data<std::int32_t>()[m] : 0);
  }
  return result;
}

template <class Y>
void requantize(const std::int32_t* sums, std::int64_t count, double factor, std::int32_t bias,
                std::int32_t zero, Y* y) {
  constexpr double kLeast = std::numeric_limits<Y>::lowest();
  constexpr double kMost = std::numeric_limits<Y>::max();
  for (std::int64_t i = 0; i < count; ++i) {
    const double wide = std::nearbyint((static_cast<double>(sums[i]) + bias) * factor) + zero;
    y[i] = static_cast<Y>(wide < kLeast ? kLeast : wide > kMost ? kMost : wide);
  }
}

template <class X, class W>
void run_qlinear_conv(const IntegerConv& conv, const RunContext& run) {
  const Requantization q = read_requantization(conv, run);
  Tensor& y = run.output(0);
  const ByteConv<X, W> bytes(conv, run, run.input(3), tensor_or_null(run, 2), tensor_or_null(run, 5));
  bytes.run([&](const Block& block) {
    for (std::int64_t m = 0; m < conv.shape.out_channels; ++m) {
      const std::int64_t channel = block.first_channel + m;
      const std::int32_t* sums = block.sums + m * block.width;
      const std::int64_t at = output_at(conv, block, m);
      if (y.type() == DataType::Int8) {
        requantize(sums, block.width, q.factors[channel], q.bias[channel], q.zero,
                   y.data<std::int8_t>() + at);
      } else {
        requantize(sums, block.width, q.factors[channel], q.bias[channel], q.zero,
                   y.data<std::uint8_t>() + at);
      }
    }
  });
}

// Calls `use` with zeros of the C++ types of inputs 0 and w.
template <class Use>
PreparedKernel dispatch_bytes(const PrepareContext& context, std::size_t w, const Use& use) {
  return dispatch<std::int8_t, std::uint8_t>(context.element(0), [&](auto x) {
    return dispatch<std::int8_t, std::uint8_t>(context.element(w),
                                               [&](auto weight) { return use(x, weight); });
  });
}

void check_single(const PrepareContext& context, std::size_t i) {
  if (!context.has_input(i) || context.input(i).element_count() == 1) return;
  throw Error("{} has shape {}, one number needed", context.op.spec->inputs[i].name,
              ir::to_string(context.dims(i)));
}

}  // namespace

PreparedKernel prepare_conv_integer(PrepareContext& context) {
  check_single(context, 2);
  const auto conv = plan_integer(context, 1);
  return dispatch_bytes(context, 1, [&](auto x, auto w) -> PreparedKernel {
    return [conv](const RunContext& run) { run_conv_integer<decltype(x), decltype(w)>(*conv, run); };
  });
}

PreparedKernel prepare_qlinear_conv(PrepareContext& context) {
  for (std::size_t i : {1U, 2U, 6U, 7U}) check_single(context, i);
  const auto conv = plan_integer(context, 3);
  return dispatch_bytes(context, 3, [&](auto x, auto w) -> PreparedKernel {
    return [conv](const RunContext& run) { run_qlinear_conv<decltype(x), decltype(w)>(*conv, run); };
  });
}

}  // namespace podium::kernels
