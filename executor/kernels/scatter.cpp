// The data are copied, unless the output is the same memory, and then updates go to their offsets: indices
// become offsets in scratch memory as for gathering, and blocks of neighbouring elements are replaced by size
// or combined by type (add, multiply, smaller, larger; integers wrap, NaN wins). Updates go in their order,
// so repeated indices give the same bits every time.
#include "executor/kernels/scatter.h"

#include <algorithm>
#include <cmath>

#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/indices.h"
#include "executor/kernels/tools/parallel.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/tools/unit.h"

namespace podium::kernels {
namespace {

// Blocks of `block` elements, in order, each to its offset.
using Apply = void (*)(const Tensor& updates, std::span<const std::int64_t> offsets, std::int64_t block,
                       Tensor& output);

void replace(const Tensor& updates, std::span<const std::int64_t> offsets, std::int64_t block,
             Tensor& output) {
  const std::int64_t element = storage_bytes(output.type());
  with_block(output.type(), block, [&](auto move, std::int64_t bytes) {
    const auto* from = static_cast<const std::byte*>(updates.raw());
    auto* to = static_cast<std::byte*>(output.raw());
    for (std::int64_t offset : offsets) {
      move(from, to + offset * element);
      from += bytes;
    }
  });
}

template <class T>
constexpr bool kIsNarrow = std::is_same_v<T, ir::Float16> || std::is_same_v<T, ir::Bfloat16>;
template <class T>
constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

struct Add {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a || b;
    // Unsigned, where wrapping is defined.
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    } else {
      return a + b;
    }
  }
};

struct Multiply {
  template <class T>
  static T of(T a, T b) {
    if constexpr (std::is_same_v<T, bool>) return a && b;
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
      return a * b;
    }
  }
};

// NaN wins, as in NumPy.
struct Smaller {
  template <class T>
  static T of(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

struct Larger {
  template <class T>
  static T of(T a, T b) {
    return a > b || a != a ? a : b;
  }
};

template <class Operation, class T>
void accumulate(const Tensor& updates, std::span<const std::int64_t> offsets, std::int64_t block,
                Tensor& output) {
  const T* from = updates.data<T>();
  T* to = output.data<T>();
  // Each thread has a part of every block, so that its updates go in their order.
  const auto part = [&](std::int64_t begin, std::int64_t end) {
    for (std::size_t row = 0; row < offsets.size(); ++row) {
      const T* more = from + static_cast<std::int64_t>(row) * block;
      T* sum = to + offsets[row];
      for (std::int64_t i = begin; i < end; ++i) {
        if constexpr (kIsNarrow<T>) {
          sum[i] = T(Operation::of(static_cast<float>(sum[i]), static_cast<float>(more[i])));
        } else {
          sum[i] = Operation::of(sum[i], more[i]);
        }
      }
    }
  };
  constexpr std::int64_t kLine = 64 / sizeof(T);  // elements of a cache line
  if (block < 2 * kLine) return part(0, block);
  parallel_ranges(
      (block + kLine - 1) / kLine, kLine * std::ssize(offsets),
      [&](std::int64_t begin, std::int64_t end) { part(begin * kLine, std::min(block, end * kLine)); });
}

template <class T>
Apply apply_of(const std::string& reduction) {
  if (reduction == "add") return accumulate<Add, T>;
  if (reduction == "mul") return accumulate<Multiply, T>;
  if constexpr (!kIsComplex<T>) {
    if (reduction == "min") return accumulate<Smaller, T>;
    if (reduction == "max") return accumulate<Larger, T>;
  }
  throw Error("reduction '{}' of {} found: they have no order", reduction, name_of(ir::data_type_of<T>));
}

Apply apply_of(const std::string& reduction, DataType type) {
  if (reduction == "none") return replace;
  return dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                  std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool,
                  std::complex<float>, std::complex<double>>(
      type, [&](auto tag) -> Apply { return apply_of<decltype(tag)>(reduction); });
}

// Numbers known to be zero, such as the gradient of a table before its rows are added, are not read again.
enum class Before : std::uint8_t { Zeros, Any };

Before known_before(const PrepareContext& context) {
  const Tensor* data = context.constant(0);
  if (data == nullptr || data->type() == DataType::String) return Before::Any;
  const auto* bytes = static_cast<const std::uint8_t*>(data->raw());
  const bool are_zeros =
      std::all_of(bytes, bytes + data->bytes(), [](std::uint8_t byte) { return byte == 0; });
  return are_zeros ? Before::Zeros : Before::Any;
}

void start_from(Before before, const RunContext& run) {
  const Tensor& data = run.input(0);
  Tensor& result = run.output(0);
  if (before == Before::Zeros) {
    zero_elements(result.type(), result.raw(), result.size());
  } else if (data.raw() != result.raw()) {
    copy_elements(data.type(), data.raw(), result.raw(), data.size());
  }
}

}  // namespace

PreparedKernel scatter_elements(PrepareContext& context) {
  const Dims data = context.dims(0);
  const auto rank = std::ssize(data);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), rank);
  const std::size_t count = ir::element_count(context.dims(1));
  const Apply apply = apply_of(context.get_string("reduction"), context.element(0));
  context.need_scratch(count * sizeof(std::int64_t));
  return [data, axis, count, apply, before = known_before(context)](const RunContext& run) {
    auto* offsets = run.scratch<std::int64_t>();
    element_offsets(run.input(1), data, axis, offsets);
    start_from(before, run);
    apply(run.input(2), {offsets, count}, 1, run.output(0));
  };
}

PreparedKernel scatter_nd(PrepareContext& context) {
  const Dims data = context.dims(0);
  const Dims& indices = context.dims(1);
  const std::size_t rows = count_of(indices, 0, indices.size() - 1);
  const std::int64_t block = count_of(data, indices.back(), data.size());
  const Apply apply = apply_of(context.get_string("reduction"), context.element(0));
  context.need_scratch(rows * sizeof(std::int64_t));
  return [data, rows, block, apply, before = known_before(context)](const RunContext& run) {
    auto* offsets = run.scratch<std::int64_t>();
    row_offsets(run.input(1), data, 0, offsets);
    start_from(before, run);
    apply(run.input(2), {offsets, rows}, block, run.output(0));
  };
}

// Step `s` of the update of batch `b` goes to step write_indices[b] + s of the cache, for every row between
// the batch and the axis.
PreparedKernel tensor_scatter(PrepareContext& context) {
  const Dims& cache = context.dims(0);
  const auto rank = std::ssize(cache);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), rank);
  const std::int64_t steps = cache[axis];
  const std::int64_t written = context.dims(1)[axis];
  const std::int64_t batch = cache[0];
  const std::int64_t rows = count_of(cache, 1, axis);
  const std::int64_t block = count_of(cache, axis + 1, cache.size());
  const bool circular = context.get_string("mode") == "circular";
  return [=](const RunContext& run) {
    start_from(Before::Any, run);
    const std::int64_t* first = run.has_input(2) ? run.input(2).data<std::int64_t>() : nullptr;
    with_block(run.input(0).type(), block, [&](auto move, std::int64_t bytes) {
      const auto* from = static_cast<const std::byte*>(run.input(1).raw());
      auto* to = static_cast<std::byte*>(run.output(0).raw());
      for (std::int64_t row = 0; row < batch * rows; ++row) {
        const std::int64_t start = first == nullptr ? 0 : first[row / rows];
        if (start < 0 || (!circular && start > steps - written)) {
          throw Error("{} steps at {} do not fit a cache of {}", written, start, steps);
        }
        for (std::int64_t s = 0; s < written; ++s, from += bytes) {
          move(from, to + (row * steps + (start % steps + s) % steps) * bytes);
        }
      }
    });
  };
}

}  // namespace podium::kernels
