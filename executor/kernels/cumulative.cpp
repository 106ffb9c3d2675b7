// Running sums and products along an axis: CumSum and CumProd.
#include "executor/kernels/reduce_plan.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {
namespace {

struct ScanDirection {
  bool exclusive = false;
  bool reverse = false;
};

template <class T, bool kProduct>
T joined(T a, T b) {
  return kProduct ? a * b : a + b;
}

// A single row, whose running value stays in a register.
template <class T, bool kProduct>
void cumulate_row(const T* x, std::int64_t count, const ScanDirection& direction, T* y) {
  T running = kProduct ? T{1} : T{0};
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t at = direction.reverse ? count - 1 - i : i;
    const T before = running;
    running = joined<T, kProduct>(running, x[at]);
    y[at] = direction.exclusive ? before : running;
  }
}

// Rows of `inner` elements. Each result row combines the input rows before it, and its own unless exclusive.
template <class T, bool kProduct>
void cumulate_rows(const T* x, std::int64_t rows, std::int64_t inner, const ScanDirection& direction, T* y) {
  if (inner == 1) return cumulate_row<T, kProduct>(x, rows, direction, y);
  const T first = kProduct ? T{1} : T{0};
  const std::int64_t step = direction.reverse ? -inner : inner;
  std::int64_t at = direction.reverse ? (rows - 1) * inner : 0;
  for (std::int64_t row = 0; row < rows; ++row, at += step) {
    const T* before = y + at - step;
    if (row == 0) {
      for (std::int64_t j = 0; j < inner; ++j) y[at + j] = direction.exclusive ? first : x[at + j];
    } else {
      const T* added = x + (direction.exclusive ? at - step : at);
      for (std::int64_t j = 0; j < inner; ++j) y[at + j] = joined<T, kProduct>(before[j], added[j]);
    }
  }
}

template <class T, bool kProduct>
void cumulate(const Dims& dims, const Tensor& axis_tensor, const ScanDirection& direction, const T* x, T* y) {
  const std::int64_t axis = ir::normalized_axis(axis_tensor.to_ints()[0], std::ssize(dims));
  const std::int64_t rows = dims[axis];
  const std::int64_t inner = ir::element_count(Dims(dims.begin() + axis + 1, dims.end()));
  const std::int64_t outer = ir::element_count(Dims(dims.begin(), dims.begin() + axis));
#pragma omp parallel for if (outer > 1 && outer * rows * inner > 32768) schedule(static)
  for (std::int64_t i = 0; i < outer; ++i) {
    cumulate_rows<T, kProduct>(x + i * rows * inner, rows, inner, direction, y + i * rows * inner);
  }
}

template <bool kProduct>
PreparedKernel prepare_scan(PrepareContext& context) {
  const ScanDirection direction{context.get_int("exclusive") != 0, context.get_int("reverse") != 0};
  const Dims dims = context.dims(0);
  const DataType type = context.element(0);
  if (type == DataType::Float16 || type == DataType::Bfloat16) {
    const std::int64_t count = context.input(0).element_count();
    context.need_scratch(2 * count * sizeof(float));
    return [=](const RunContext& run) {
      auto* x = run.scratch<float>();
      to_float(run.input(0), 0, count, x);
      cumulate<float, kProduct>(dims, run.input(1), direction, x, x + count);
      from_float(x + count, run.output(0), 0, count);
    };
  }
  const auto in_type = [&](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [=](const RunContext& run) {
      cumulate<T, kProduct>(dims, run.input(1), direction, static_cast<const T*>(run.input(0).raw()),
                            static_cast<T*>(run.output(0).raw()));
    };
  };
  if (type == DataType::Float) return in_type(float{});
  if (type == DataType::Double) return in_type(double{});
  // Signed integers wrap as unsigned ones do.
  return ir::storage_bytes(type) == 8 ? in_type(std::uint64_t{}) : in_type(std::uint32_t{});
}

}  // namespace

PreparedKernel prepare_cum_sum(PrepareContext& context) { return prepare_scan<false>(context); }
PreparedKernel prepare_cum_prod(PrepareContext& context) { return prepare_scan<true>(context); }

}  // namespace podium::kernels
