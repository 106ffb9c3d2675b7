// ConvWeightGradient: oneDNN for float of one group, vectors along rows where channels are few, plane by
// plane where they are apart, else products over columns, summed over images and windows in a fixed order.
#include <algorithm>
#include <memory>
#include <vector>

#include "executor/kernels/conv.h"
#include "executor/kernels/conv_planes.h"
#include "executor/kernels/conv_pointwise.h"
#include "executor/kernels/conv_rows.h"
#include "executor/kernels/gradient_ops.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/gemm.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/thread_limit.h"
#include "ir/ops/conv_algorithm.h"

namespace podium::kernels {
namespace {

// Pieces are channels of X that lie in one group: each has columns of dW of its own, so that threads share
// nothing and no sum depends on their number.
struct WeightGradient {
  ConvShape shape;
  Columns columns;
  bool is_pointwise = false;
  std::int64_t channels_at_once = 1;
  std::int64_t lines_at_once = 1;

  std::int64_t pieces_of_group() const {
    return (shape.in_channels + channels_at_once - 1) / channels_at_once;
  }
};

// One element that moves by one without padding: the columns are X itself.
bool is_pointwise(const ir::Window& window) {
  const auto is_one = [](std::int64_t size) { return size == 1; };
  return window.input == window.output && std::all_of(window.kernel.begin(), window.kernel.end(), is_one) &&
         std::all_of(window.strides.begin(), window.strides.end(), is_one) &&
         std::all_of(window.pads_begin.begin(), window.pads_begin.end(),
                     [](std::int64_t pad) { return pad == 0; });
}

WeightGradient plan(const ConvShape& shape) {
  constexpr std::int64_t kRowsAtOnce = 192;      // rows of the column matrix, which are columns of dW
  constexpr std::int64_t kLeastRows = 32;        // below, products are slow
  constexpr std::int64_t kColumnsAtOnce = 1024;  // so that what is unfolded stays in a core's cache
  const std::int64_t pieces = 2 * machine_threads();
  WeightGradient result{shape, Columns(shape.window), is_pointwise(shape.window)};
  const std::int64_t size = std::max<std::int64_t>(shape.kernel_size, 1);
  const std::int64_t even = std::max(shape.in_channels * shape.group / pieces, kLeastRows / size);
  result.channels_at_once = std::clamp<std::int64_t>(kRowsAtOnce / size, 1, std::max<std::int64_t>(even, 1));
  const std::int64_t line = std::max<std::int64_t>(result.columns.line_size(), 1);
  result.lines_at_once =
      std::clamp<std::int64_t>(kColumnsAtOnce / line, 1, std::max<std::int64_t>(result.columns.lines(), 1));
  return result;
}

// Channels [first, last) of one group of X with that group of dY.
template <class T>
void add_piece(const WeightGradient& op, const T* x, const T* flow, T* weights, std::int64_t channels,
               std::vector<T>& columns) {
  const ConvShape& shape = op.shape;
  if (op.is_pointwise) {
    const Product product{.m = shape.out_channels,
                          .n = channels,
                          .k = shape.in_size,
                          .transpose_b = true,
                          .row_c = shape.depth()};
    return multiply(product, flow, x, weights, T{1}, T{1});
  }
  for (std::int64_t line = 0; line < op.columns.lines(); line += op.lines_at_once) {
    const std::int64_t end = std::min(line + op.lines_at_once, op.columns.lines());
    const std::int64_t width = (end - line) * op.columns.line_size();
    for (std::int64_t c = 0; c < channels; ++c) {
      op.columns.gather(x + c * shape.in_size, T{0}, line, end,
                        columns.data() + c * shape.kernel_size * width, width);
    }
    const Product product{.m = shape.out_channels,
                          .n = channels * shape.kernel_size,
                          .k = width,
                          .transpose_b = true,
                          .row_a = shape.out_size,
                          .row_c = shape.depth()};
    multiply(product, flow + line * op.columns.line_size(), columns.data(), weights, T{1}, T{1});
  }
}

template <class T>
void run_piece(const WeightGradient& op, const T* x, const T* flow, T* weights, std::int64_t piece,
               std::vector<T>& columns) {
  const ConvShape& shape = op.shape;
  const std::int64_t group = piece / op.pieces_of_group();
  const std::int64_t first = piece % op.pieces_of_group() * op.channels_at_once;
  const std::int64_t channels = std::min(op.channels_at_once, shape.in_channels - first);
  T* to = weights + group * shape.out_channels * shape.depth() + first * shape.kernel_size;
  for (std::int64_t m = 0; m < shape.out_channels; ++m) {
    std::fill_n(to + m * shape.depth(), channels * shape.kernel_size, T{0});
  }
  for (std::int64_t n = 0; n < shape.batch; ++n) {
    const std::int64_t image = n * shape.group + group;
    add_piece(op, x + (image * shape.in_channels + first) * shape.in_size,
              flow + image * shape.out_channels * shape.out_size, to, channels, columns);
  }
}

template <class T>
void sum_over_columns(const WeightGradient& op, const T* x, const T* flow, T* weights) {
  const ConvShape& shape = op.shape;
  const std::int64_t rows = op.channels_at_once * shape.kernel_size;
  const std::int64_t pieces = shape.group * op.pieces_of_group();
  const std::int64_t cost = rows * shape.out_channels * shape.out_size * shape.batch;
  parallel_ranges(pieces, cost, [&](std::int64_t begin, std::int64_t end) {
    const ThreadLimit alone(1);  // a product over several threads would add up in another order
    std::vector<T> columns(rows * op.lines_at_once * op.columns.line_size());
    for (std::int64_t piece = begin; piece < end; ++piece) run_piece(op, x, flow, weights, piece, columns);
  });
}

FloatWeightGradient make_column_weight_gradient(const ConvShape& shape) {
  return {0, [op = std::make_shared<const WeightGradient>(plan(shape))](
                 const float* x, const float* flow, float* weights, std::byte* /*scratch*/) {
            sum_over_columns(*op, x, flow, weights);
          }};
}

PreparedKernel weights_in_float(PrepareContext& context, const ConvShape& shape) {
  if (context.element(0) != DataType::Float) return {};
  std::optional<FloatWeightGradient> gradient;
  if (ir::pays_by_planes(shape)) {
    gradient = make_plane_weight_gradient(shape);
  } else if (ir::pays_to_join_images(shape)) {
    gradient = make_joined_weight_gradient(shape);
  } else if (skips(shape)) {
    gradient = make_library_weight_gradient(without_skipped(shape));
    if (gradient) gradient = make_skipping_weight_gradient(shape, std::move(*gradient));
  } else {
    gradient = make_library_weight_gradient(shape);
  }
  if (!gradient && shape.group > 1 && ir::pays_by_rows(shape)) gradient = make_column_weight_gradient(shape);
  if (!gradient) return {};
  if (ir::pays_by_rows(shape)) gradient = make_row_weight_gradient(shape, std::move(*gradient));
  context.need_scratch(gradient->scratch_bytes);
  return [run_float = gradient->run](const RunContext& run) {
    run_float(run.input(0).data<float>(), run.input(1).data<float>(), run.output(0).data<float>(),
              run.scratch_memory);
  };
}

}  // namespace

PreparedKernel prepare_conv_weight_gradient(PrepareContext& context) {
  if (PreparedKernel kernel = weights_in_float(context, ir::weight_gradient_shape(context))) return kernel;
  const auto op = std::make_shared<const WeightGradient>(plan(ir::weight_gradient_shape(context)));
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) {
      sum_over_columns(*op, run.input(0).data<T>(), run.input(1).data<T>(), run.output(0).data<T>());
    };
  });
}

}  // namespace podium::kernels
