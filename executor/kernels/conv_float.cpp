// Conv and ConvTranspose: oneDNN for float, vectors along rows where channels are few, plane by plane where
// they are apart, else matrix products over columns, which take any rank.
#include <memory>

#include "executor/kernels/conv.h"
#include "executor/kernels/conv_planes.h"
#include "executor/kernels/conv_pointwise.h"
#include "executor/kernels/conv_rows.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/parallel.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

template <class T>
struct ConvData {
  const T* x = nullptr;
  const T* weights = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  T* columns = nullptr;
};

template <class T>
ConvData<T> data_of(const RunContext& run) {
  return {run.input(0).data<T>(), run.input(1).data<T>(), run.has_input(2) ? run.input(2).data<T>() : nullptr,
          run.output(0).data<T>(), run.scratch<T>()};
}

struct ColumnConv {
  ConvShape shape;
  Columns columns;
  std::int64_t lines_at_once = 1;  // so that the columns fit a cache
};

ColumnConv plan_columns(const ConvShape& shape, std::size_t element_bytes) {
  constexpr std::int64_t kColumnBytes = 1 << 21;
  ColumnConv conv{shape, Columns(shape.window)};
  const std::int64_t line_bytes = shape.depth() * conv.columns.line_size() * element_bytes;
  conv.lines_at_once = std::clamp<std::int64_t>(kColumnBytes / std::max<std::int64_t>(line_bytes, 1), 1,
                                                std::max<std::int64_t>(conv.columns.lines(), 1));
  return conv;
}

// One group of one image.
template <class T>
void convolve_group(const ColumnConv& conv, const T* x, const T* weights, T* y, T* columns) {
  const ConvShape& shape = conv.shape;
  for (std::int64_t line = 0; line < conv.columns.lines(); line += conv.lines_at_once) {
    const std::int64_t end = std::min(line + conv.lines_at_once, conv.columns.lines());
    const std::int64_t width = (end - line) * conv.columns.line_size();
    parallel_ranges(shape.in_channels, shape.kernel_size * width, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t c = first; c < last; ++c) {
        conv.columns.gather(x + c * shape.in_size, T{0}, line, end, columns + c * shape.kernel_size * width,
                            width);
      }
    });
    const Product product{.m = shape.out_channels, .n = width, .k = shape.depth(), .row_c = shape.out_size};
    multiply(product, weights, columns, y + line * conv.columns.line_size(), T{1}, T{1});
  }
}

template <class T>
void convolve(const ColumnConv& conv, const ConvData<T>& data) {
  const ConvShape& shape = conv.shape;
  fill_with_bias(shape, data.bias, data.y);
  for (std::int64_t i = 0; i < shape.batch * shape.group; ++i) {
    const std::int64_t weights = i % shape.group * shape.out_channels * shape.depth();
    convolve_group(conv, data.x + i * shape.in_channels * shape.in_size, data.weights + weights,
                   data.y + i * shape.out_channels * shape.out_size, data.columns);
  }
}

// The window of the convolution that goes from Y back to X.
ir::Window reversed(ir::Window window) {
  std::swap(window.input, window.output);
  return window;
}

template <class T>
void convolve_transposed(const ColumnConv& conv, const ConvData<T>& data) {
  const ConvShape& shape = conv.shape;
  const std::int64_t rows = shape.out_channels * shape.kernel_size;
  const Product product{.m = rows, .n = shape.in_size, .k = shape.in_channels, .transpose_a = true};
  fill_with_bias(shape, data.bias, data.y);
  for (std::int64_t i = 0; i < shape.batch * shape.group; ++i) {
    const T* weights = data.weights + i % shape.group * shape.in_channels * rows;
    multiply(product, weights, data.x + i * shape.in_channels * shape.in_size, data.columns);
    T* y = data.y + i * shape.out_channels * shape.out_size;
    parallel_ranges(shape.out_channels, shape.kernel_size * shape.in_size,
                    [&](std::int64_t first, std::int64_t last) {
                      for (std::int64_t c = first; c < last; ++c) {
                        conv.columns.scatter_add(data.columns + c * shape.kernel_size * shape.in_size,
                                                 y + c * shape.out_size);
                      }
                    });
  }
}

std::optional<FloatConv> make_float_conv(const ConvShape& shape, bool has_bias, const Tensor* weights) {
  if (ir::pays_by_rows(shape)) return make_row_conv(shape);
  if (ir::pays_by_planes(shape)) return make_plane_conv(shape);
  const bool joins = ir::pays_to_join_images(shape);
  if (!joins && !skips(shape)) return make_library_conv(shape, has_bias, weights);
  auto dense =
      make_library_conv(joins ? with_joined_images(shape) : without_skipped(shape), has_bias, weights);
  if (!dense) return std::nullopt;
  return joins ? make_joined_conv(shape, std::move(*dense)) : make_skipping_conv(shape, std::move(*dense));
}

PreparedKernel in_float(PrepareContext& context, const ConvShape& shape) {
  if (context.element(0) != DataType::Float) return {};
  const std::optional<FloatConv> conv = make_float_conv(shape, context.has_input(2), context.constant(1));
  if (!conv) return {};
  context.need_scratch(conv->scratch_bytes);
  return [run_conv = conv->run](const RunContext& run) {
    const ConvData<float> data = data_of<float>(run);
    run_conv(data.x, data.weights, data.bias, data.y, run.scratch_memory);
  };
}

}  // namespace

PreparedKernel prepare_conv(PrepareContext& context) {
  const ConvShape shape = ir::conv_shape(context, 1);
  if (PreparedKernel kernel = in_float(context, shape)) return kernel;
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    const auto conv = std::make_shared<const ColumnConv>(plan_columns(shape, sizeof(T)));
    const std::int64_t width = conv->lines_at_once * conv->columns.line_size();
    context.need_scratch(shape.depth() * width * sizeof(T));
    return [conv](const RunContext& run) { convolve(*conv, data_of<T>(run)); };
  });
}

PreparedKernel prepare_conv_transpose(PrepareContext& context) {
  const ConvShape shape = ir::conv_transpose_shape(context);
  if (PreparedKernel kernel = in_float(context, shape)) return kernel;
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    const auto conv = std::make_shared<const ColumnConv>(ColumnConv{shape, Columns(reversed(shape.window))});
    const std::int64_t numbers = shape.out_channels * shape.kernel_size * shape.in_size;
    context.need_scratch(numbers * sizeof(T));
    return [conv](const RunContext& run) { convolve_transposed(*conv, data_of<T>(run)); };
  });
}

}  // namespace podium::kernels
