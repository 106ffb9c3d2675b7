// Where the largest or smallest element is: ArgMax and ArgMin.
#include "executor/kernels/reduce_core.h"
#include "executor/kernels/tools/convert.h"
#include "executor/kernels/tools/dispatch.h"

namespace podium::kernels {
namespace {

// The tensor as [outer, size, inner] around the axis.
struct Around {
  std::int64_t outer = 1;
  std::int64_t size = 1;
  std::int64_t inner = 1;
};

Around around_axis(const Dims& dims, std::int64_t axis) {
  Around around;
  for (std::int64_t i = 0; i < std::ssize(dims); ++i) {
    (i < axis ? around.outer : i == axis ? around.size : around.inner) *= dims[i];
  }
  return around;
}

// The first place in a stretch of a row where `is` holds; `count` where there is none.
template <class T, class Test>
std::int32_t first_place(const T* x, std::int32_t count, const Test& is) {
  std::int32_t first = count;
#pragma omp simd reduction(min : first)
  for (std::int32_t i = 0; i < count; ++i) first = is(x[i]) & (i < first) ? i : first;
  return first;
}

// First or last place of the best element of a row, NaN being better than any number.
template <class T, bool kLargest>
std::int64_t index_in_row(const T* x, std::int64_t count, bool last) {
  const T best = reduce_run<Choosing<T, kLargest>>(x, count);
  const auto is_best = [best](T value) { return (value == best) | ((best != best) & (value != value)); };
  if (!last) {
    constexpr std::int64_t kStretch = 256;
    for (std::int64_t begin = 0; begin < count; begin += kStretch) {
      const auto length = static_cast<std::int32_t>(std::min(kStretch, count - begin));
      const std::int32_t place = first_place(x + begin, length, is_best);
      if (place < length) return begin + place;
    }
    return count;
  }
  std::int64_t index = count - 1;
  while (!is_best(x[index])) --index;
  return index;
}

// Finds the index in `width` neighbouring columns of rows that are `stride` apart.
template <class T, bool kLargest>
void index_in_columns(const T* x, std::int64_t count, std::int64_t stride, std::int64_t width, bool last,
                      std::int64_t* to) {
  T best[kReduceTile];
  std::copy_n(x, width, best);
  std::fill_n(to, width, 0);
  for (std::int64_t row = 1; row < count; ++row) {
    for (std::int64_t j = 0; j < width; ++j) {
      const T value = x[row * stride + j];
      const bool wins =
          (kLargest ? value > best[j] : value < best[j]) || (value != value && best[j] == best[j]);
      const bool ties = last && (value == best[j] || (value != value && best[j] != best[j]));
      best[j] = wins ? value : best[j];
      to[j] = wins || ties ? row : to[j];
    }
  }
}

template <class T, bool kLargest>
void find_indices(const Around& around, const T* x, bool last, std::int64_t* y) {
  const auto [outer, size, inner] = around;
  const std::int64_t tiles = (inner + kReduceTile - 1) / kReduceTile;
  const bool is_large = outer * size * inner > 32768;
#pragma omp parallel for if (is_large && outer * tiles > 1) schedule(static)
  for (std::int64_t i = 0; i < outer * tiles; ++i) {
    if (inner == 1) {
      y[i] = index_in_row<T, kLargest>(x + i * size, size, last);
      continue;
    }
    const std::int64_t column = i % tiles * kReduceTile;
    index_in_columns<T, kLargest>(x + i / tiles * size * inner + column, size, inner,
                                  std::min(kReduceTile, inner - column), last,
                                  y + i / tiles * inner + column);
  }
}

template <bool kLargest>
PreparedKernel prepare(PrepareContext& context) {
  const std::int64_t rank = context.input(0).rank();
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), std::max<std::int64_t>(rank, 1));
  const Around around = around_axis(context.dims(0), axis);
  const bool last = context.get_int("select_last_index") != 0;
  if (around.size == 0 && around.outer * around.inner > 0)
    throw Error("axis {} has no element to choose", axis);
  DataType type = context.element(0);
  if (type == DataType::Float16 || type == DataType::Bfloat16) {
    const std::int64_t count = context.input(0).element_count();
    context.need_scratch(count * sizeof(float));
    return [=](const RunContext& run) {
      to_float(run.input(0), 0, count, run.scratch<float>());
      find_indices<float, kLargest>(around, run.scratch<float>(), last, run.output(0).data<std::int64_t>());
    };
  }
  return dispatch<float, double, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                  std::uint16_t, std::uint32_t, std::uint64_t>(type, [=](auto tag) -> PreparedKernel {
    using T = decltype(tag);
    return [=](const RunContext& run) {
      find_indices<T, kLargest>(around, run.input(0).data<T>(), last, run.output(0).data<std::int64_t>());
    };
  });
}

}  // namespace

PreparedKernel prepare_arg_max(PrepareContext& context) { return prepare<true>(context); }
PreparedKernel prepare_arg_min(PrepareContext& context) { return prepare<false>(context); }

}  // namespace podium::kernels
