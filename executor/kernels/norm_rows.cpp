// Normalisations of rows, which are all axes from one on: LayerNormalization and RMSNormalization.
// A row is one thread's: its moments, then one pass that scales. Scale and bias may stretch over rows or
// columns: a RowParameter has an offset per row and per column, and hands out the row itself where it lies
// flat. RMSNormalization is the same with a mean of zero, in double when X or scale are.
// The gradients of scale and bias are sums of all rows: each of some pieces of the rows adds up its own, and
// these are added in their order, so that they do not depend on the threads.
#include "executor/kernels/norm.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/moments.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// A scale or bias that stretches to X, seen row by row.
class RowParameter {
 public:
  RowParameter() = default;
  RowParameter(const Dims& x, std::size_t axis, const Dims& parameter) {
    // Aligned at the right; an axis that is stretched does not move in the parameter.
    Dims strides(x.size(), 0);
    const Dims own = strides_of(parameter);
    const std::size_t shift = x.size() - parameter.size();
    for (std::size_t i = 0; i < parameter.size(); ++i) strides[shift + i] = parameter[i] == 1 ? 0 : own[i];
    rows_ = offsets(Dims(x.begin(), x.begin() + axis), Dims(strides.begin(), strides.begin() + axis));
    columns_ = offsets(Dims(x.begin() + axis, x.end()), Dims(strides.begin() + axis, strides.end()));
    for (std::int64_t i = 0; i < std::ssize(columns_); ++i) {
      is_flat_ = is_flat_ && columns_[i] == i;
    }
  }

  /// The parameter's numbers for one row; `buffer` holds them where they do not lie side by side.
  template <class T>
  const T* row(const T* data, std::int64_t row, std::vector<T>& buffer) const {
    const T* first = data + rows_[row];
    if (is_flat_) return first;
    buffer.resize(columns_.size());
    for (std::size_t i = 0; i < buffer.size(); ++i) buffer[i] = first[columns_[i]];
    return buffer.data();
  }

 private:
  static std::vector<std::int64_t> offsets(const Dims& dims, const Dims& strides) {
    std::vector<std::int64_t> result;
    for (StridedWalk<1> walk(dims, {strides}); walk.more(); walk.next()) result.push_back(walk.offset(0));
    return result;
  }

  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> columns_;
  bool is_flat_ = true;
};

struct RowNormalization {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  float epsilon = 0;
  bool centered = true;  // false: the mean is taken to be zero
  RowParameter scale = {};
  RowParameter bias = {};
};

RowNormalization read_rows(const PrepareContext& context, bool centered) {
  const Dims& x = context.dims(0);
  const auto rank = std::ssize(x);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), rank);
  RowNormalization op{count_of(x, 0, axis), count_of(x, axis, x.size()), context.get_float("epsilon"),
                      centered};
  op.scale = RowParameter(x, axis, context.dims(1));
  if (context.has_input(2)) op.bias = RowParameter(x, axis, context.dims(2));
  return op;
}

// Pointers of one run.
template <class T>
struct RowData {
  const T* x = nullptr;
  const T* scale = nullptr;
  const T* bias = nullptr;
  T* y = nullptr;
  float* mean = nullptr;
  float* inverse_deviation = nullptr;
};

template <class T>
void normalize_rows(const RowNormalization& op, const RowData<T>& data, std::int64_t begin,
                    std::int64_t end) {
  std::vector<T> scale_buffer;
  std::vector<T> bias_buffer;
  for (std::int64_t row = begin; row < end; ++row) {
    const T* x = data.x + row * op.columns;
    T* y = data.y + row * op.columns;
    const T* scale = op.scale.row(data.scale, row, scale_buffer);
    Moments<T> moments;
    if (op.centered) {
      moments = moments_of(x, op.columns);
    } else {
      moments.variance = sum_of_squares(x, op.columns, T{0}) / static_cast<T>(op.columns);
    }
    const T mean = moments.mean;
    const T factor = T{1} / std::sqrt(moments.variance + static_cast<T>(op.epsilon));
    if (data.mean != nullptr) data.mean[row] = static_cast<float>(mean);
    if (data.inverse_deviation != nullptr) data.inverse_deviation[row] = static_cast<float>(factor);
    if (data.bias == nullptr) {
      for (std::int64_t i = 0; i < op.columns; ++i) y[i] = (x[i] - mean) * factor * scale[i];
    } else {
      const T* bias = op.bias.row(data.bias, row, bias_buffer);
      for (std::int64_t i = 0; i < op.columns; ++i) y[i] = (x[i] - mean) * factor * scale[i] + bias[i];
    }
  }
}

template <class T>
void run_rows(const RowNormalization& op, const RowData<T>& data) {
  parallel_ranges(op.rows, op.columns * 4,
                  [&](std::int64_t begin, std::int64_t end) { normalize_rows(op, data, begin, end); });
}

// X and scale may differ in type: computed in the wider one.
template <class T>
void run_rms(const RowNormalization& op, const RunContext& run) {
  const auto as_wanted = [](const Tensor& tensor, std::vector<T>& buffer) -> const T* {
    if (tensor.type() == ir::data_type_of<T>) return tensor.data<T>();
    buffer = numbers_of<T>(tensor);
    return buffer.data();
  };
  std::vector<T> x_buffer;
  std::vector<T> scale_buffer;
  std::vector<T> y_buffer;
  Tensor& output = run.output(0);
  const bool direct = output.type() == ir::data_type_of<T>;
  if (!direct) y_buffer.resize(output.size());
  run_rows<T>(op, {.x = as_wanted(run.input(0), x_buffer),
                   .scale = as_wanted(run.input(1), scale_buffer),
                   .y = direct ? output.data<T>() : y_buffer.data()});
  if (direct) return;
  for (std::size_t i = 0; i < y_buffer.size(); ++i) output.data<float>()[i] = static_cast<float>(y_buffer[i]);
}

struct RowGradient {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t pieces = 1;
  float epsilon = 0;
};

// What one piece of the rows adds to the gradients of scale and bias.
struct RowSums {
  float* scale = nullptr;
  float* bias = nullptr;
};

// With m the mean of a row of X, d its deviation and g = dY scale:
// dX = (g - mean(g) - (X - m) mean(g (X - m)) / d^2) / d.
void row_gradient_of(const RowGradient& op, const RunContext& run, std::int64_t row, const RowSums& sums) {
  const std::int64_t columns = op.columns;
  const float* x = run.input(0).data<float>() + row * columns;
  const float* flow = run.input(1).data<float>() + row * columns;
  const float* scale = run.input(2).data<float>();
  const Moments<float> moments = moments_of(x, columns);
  const float mean = moments.mean;
  const float inverse = 1 / std::sqrt(moments.variance + op.epsilon);
  float sum = 0;
  float along = 0;
#pragma omp simd reduction(+ : sum, along)
  for (std::int64_t i = 0; i < columns; ++i) {
    const float into = flow[i] * scale[i];
    sum += into;
    along += into * (x[i] - mean);
  }
  for (std::int64_t i = 0; i < columns; ++i) {
    sums.scale[i] += flow[i] * ((x[i] - mean) * inverse);
    sums.bias[i] += flow[i];
  }
  const float mean_flow = sum / static_cast<float>(columns);
  const float slope = along * inverse * inverse / static_cast<float>(columns);
  float* to = run.output(0).data<float>() + row * columns;
  for (std::int64_t i = 0; i < columns; ++i)
    to[i] = inverse * (flow[i] * scale[i] - mean_flow - (x[i] - mean) * slope);
}

void add_pieces(const RowGradient& op, const float* sums, Tensor& total) {
  auto* to = total.data<float>();
  std::copy_n(sums, op.columns, to);
  for (std::int64_t piece = 1; piece < op.pieces; ++piece) {
    const float* more = sums + piece * 2 * op.columns;
    for (std::int64_t i = 0; i < op.columns; ++i) to[i] += more[i];
  }
}

void run_row_gradient(const RowGradient& op, const RunContext& run) {
  auto* sums = run.scratch<float>();
  constexpr std::int64_t kOperations = 16;
  const std::int64_t cost = kOperations * op.rows / op.pieces * op.columns;
  parallel_ranges(op.pieces, cost, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t piece = begin; piece < end; ++piece) {
      float* own = sums + piece * 2 * op.columns;
      std::fill_n(own, 2 * op.columns, 0.0F);
      const std::int64_t last = op.rows * (piece + 1) / op.pieces;
      for (std::int64_t row = op.rows * piece / op.pieces; row < last; ++row)
        row_gradient_of(op, run, row, {.scale = own, .bias = own + op.columns});
    }
  });
  if (run.has_output(1)) add_pieces(op, sums, run.output(1));
  if (run.has_output(2)) add_pieces(op, sums + op.columns, run.output(2));
}

}  // namespace

PreparedKernel prepare_layer_normalization_gradient(PrepareContext& context) {
  const Dims& x = context.dims(0);
  const std::int64_t axis = context.get_int("axis");
  RowGradient op{.rows = count_of(x, 0, axis),
                 .columns = count_of(x, axis, x.size()),
                 .epsilon = context.get_float("epsilon")};
  constexpr std::int64_t kMostPieces = 64;
  constexpr std::int64_t kRowsOfPiece = 8;
  op.pieces = std::clamp<std::int64_t>(op.rows / kRowsOfPiece, 1, kMostPieces);
  context.need_scratch(op.pieces * 2 * op.columns * sizeof(float));
  return [op](const RunContext& run) { run_row_gradient(op, run); };
}

PreparedKernel prepare_layer_normalization(PrepareContext& context) {
  const RowNormalization op = read_rows(context, true);
  return dispatch<float, double>(context.element(0), [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [op](const RunContext& run) {
      run_rows<T>(op, {.x = run.input(0).data<T>(),
                       .scale = run.input(1).data<T>(),
                       .bias = run.has_input(2) ? run.input(2).data<T>() : nullptr,
                       .y = run.output(0).data<T>(),
                       .mean = run.has_output(1) ? run.output(1).data<float>() : nullptr,
                       .inverse_deviation = run.has_output(2) ? run.output(2).data<float>() : nullptr});
    };
  });
}

PreparedKernel prepare_rms_normalization(PrepareContext& context) {
  const RowNormalization op = read_rows(context, false);
  const bool wide = context.element(0) == DataType::Double || context.element(1) == DataType::Double;
  if (wide) return [op](const RunContext& run) { run_rms<double>(op, run); };
  return [op](const RunContext& run) { run_rms<float>(op, run); };
}

}  // namespace podium::kernels
