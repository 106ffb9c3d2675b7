// TopK and NonZero; Unique is in unique.cpp.
#include <algorithm>
#include <complex>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/order_key.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/unique.h"

namespace podium::kernels {
namespace {

// A number and its index in one integer or pair: the first in order are the first wanted.
template <class Key>
struct Ranked;

template <>
struct Ranked<std::uint32_t> {
  using Type = std::uint64_t;
  static Type of(std::uint32_t key, std::int64_t index) {
    return static_cast<std::uint64_t>(key) << 32 | static_cast<std::uint64_t>(index);
  }
  static std::int64_t index(Type ranked) { return static_cast<std::int64_t>(ranked & 0xFFFFFFFFU); }
};

template <>
struct Ranked<std::uint64_t> {
  using Type = std::pair<std::uint64_t, std::int64_t>;
  static Type of(std::uint64_t key, std::int64_t index) { return {key, index}; }
  static std::int64_t index(const Type& ranked) { return ranked.second; }
};

// The k first of [first, last), in order.
template <class T>
void order_first(T* first, T* last, std::int64_t k) {
  if (k == last - first) return std::sort(first, last);
  // A heap of k rejects most elements with one comparison, but each element that it takes is expensive.
  if (k < (last - first) / 16) return std::partial_sort(first, first + k, last);
  std::nth_element(first, first + k, last);
  std::sort(first, first + k);
}

struct TopKPlan {
  std::int64_t outer;
  std::int64_t size;
  std::int64_t inner;
  std::int64_t k;
  bool largest;
};

template <class T>
using KeyOf = decltype(order_key(T{}));

template <class T>
void run_top_k(const TopKPlan& plan, const RunContext& run) {
  using Rank = Ranked<KeyOf<T>>;
  auto* ranked = run.scratch<typename Rank::Type>();
  for (std::int64_t row = 0; row < plan.outer * plan.inner; ++row) {
    const std::int64_t outer = row / plan.inner;
    const std::int64_t inner = row % plan.inner;
    const T* x = run.input(0).data<T>() + outer * plan.size * plan.inner + inner;
    for (std::int64_t i = 0; i < plan.size; ++i) {
      const KeyOf<T> key = order_key(x[i * plan.inner]);
      ranked[i] = Rank::of(plan.largest ? static_cast<KeyOf<T>>(~key) : key, i);
    }
    order_first(ranked, ranked + plan.size, plan.k);
    const std::int64_t first = outer * plan.k * plan.inner + inner;
    for (std::int64_t i = 0; i < plan.k; ++i) {
      const std::int64_t index = Rank::index(ranked[i]);
      if (run.has_output(0)) run.output(0).data<T>()[first + i * plan.inner] = x[index * plan.inner];
      if (run.has_output(1)) run.output(1).data<std::int64_t>()[first + i * plan.inner] = index;
    }
  }
}

PreparedKernel top_k(PrepareContext& context) {
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), rank);
  const ir::Type& output = context.output(context.has_output(0) ? 0 : 1);
  const TopKPlan plan{count_of(dims, 0, axis), dims[axis], count_of(dims, axis + 1, dims.size()),
                      output.dims[axis], context.get_int("largest") != 0};
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(
      context.element(0), [&](auto tag) -> PreparedKernel {
        using T = decltype(tag);
        IR_CHECK(sizeof(KeyOf<T>) == 8 || plan.size <= 0xFFFFFFFF);
        context.need_scratch(plan.size * sizeof(typename Ranked<KeyOf<T>>::Type));
        return [plan](const RunContext& run) { run_top_k<T>(plan, run); };
      });
}

template <class T>
bool is_non_zero(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return !value.empty();
  } else if constexpr (requires { value == T(0); }) {
    return value != T(0);
  } else {
    return static_cast<float>(value) != 0;
  }
}

template <class T>
Tensor non_zero_of(const Tensor& x) {
  const T* element = x.data<T>();
  const std::int64_t count = std::count_if(element, element + x.size(), is_non_zero<T>);
  const std::int64_t rank = x.rank();
  Tensor result(DataType::Int64, {rank, count});
  if (rank == 0 || count == 0) return result;
  const Dims rows(x.dims().begin(), x.dims().end() - 1);
  const std::int64_t columns = x.dims().back();
  auto* out = result.data<std::int64_t>();
  std::int64_t found = 0;
  for (StridedWalk<1> walk(rows, {Dims(rows.size(), 0)}); walk.more(); walk.next(), element += columns) {
    for (std::int64_t i = 0; i < columns; ++i) {
      if (!is_non_zero(element[i])) continue;
      for (std::size_t axis = 0; axis < rows.size(); ++axis) {
        out[axis * count + found] = walk.index()[axis];
      }
      out[(rank - 1) * count + found++] = i;
    }
  }
  return result;
}

PreparedKernel non_zero(PrepareContext& context) {
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool, std::string,
                  std::complex<float>, std::complex<double>>(
      context.element(0), [](auto tag) -> PreparedKernel {
        return [](const RunContext& run) { run.set(0, non_zero_of<decltype(tag)>(run.input(0))); };
      });
}

}  // namespace

std::span<const KernelSpec> order_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "TopK", .prepare = top_k},
      {.name = "Unique", .prepare = unique},
      {.name = "NonZero", .prepare = non_zero},
  };
  return kKernels;
}

}  // namespace podium::kernels
