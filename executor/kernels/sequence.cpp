// Kernels on sequences and optionals. A tensor that goes into one is copied, as its memory may be needed for
// others before the sequence dies; what comes out is shared.
#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

using Items = std::vector<Datum>;

const ir::Items& items_of(const RunContext& run) { return *run.datum(0).items; }

Datum owned(const Datum& datum) { return datum.is_tensor() ? Datum(datum.tensor.clone()) : datum; }

// The position at input i, counted from the front, in [0, limit]; `fallback` when it is left out.
std::int64_t position(const RunContext& run, std::size_t i, std::int64_t size, std::int64_t last,
                      std::int64_t fallback) {
  if (!run.has_input(i)) return fallback;
  const Dims given = run.input(i).to_ints();
  if (given.size() != 1) throw Error("position has {} numbers, one needed", given.size());
  if (given[0] < -size || given[0] > last) {
    throw Error("position {} is outside [{}, {}] for a sequence of {}", given[0], -size, last, size);
  }
  return given[0] < 0 ? given[0] + size : given[0];
}

PreparedKernel sequence_empty(PrepareContext& /*context*/) {
  return [](const RunContext& run) { run.set(0, Datum::sequence({})); };
}

PreparedKernel sequence_construct(PrepareContext& context) {
  return [count = context.input_count()](const RunContext& run) {
    Items items;
    for (std::size_t i = 0; i < count; ++i) items.push_back(owned(run.datum(i)));
    run.set(0, Datum::sequence(std::move(items)));
  };
}

PreparedKernel sequence_insert(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const ir::Items& before = items_of(run);
    const auto size = std::ssize(before);
    const std::int64_t at = position(run, 2, size, size, size);
    if (at == size) return run.set(0, Datum::sequence(before.with_last(owned(run.datum(1)))));
    Items items(before.begin(), before.end());
    items.insert(items.begin() + at, owned(run.datum(1)));
    run.set(0, Datum::sequence(std::move(items)));
  };
}

PreparedKernel sequence_erase(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const ir::Items& before = items_of(run);
    Items items(before.begin(), before.end());
    if (items.empty()) throw Error("nothing to erase: the sequence is empty");
    const auto size = std::ssize(items);
    items.erase(items.begin() + position(run, 1, size, size - 1, size - 1));
    run.set(0, Datum::sequence(std::move(items)));
  };
}

PreparedKernel sequence_at(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const ir::Items& items = items_of(run);
    const auto size = std::ssize(items);
    run.set(0, items[position(run, 1, size, size - 1, 0)]);
  };
}

PreparedKernel sequence_length(PrepareContext& /*context*/) {
  return [](const RunContext& run) { *run.output(0).data<std::int64_t>() = items_of(run).size(); };
}

// Sizes of the parts along an axis of `dim`.
Dims part_sizes(const RunContext& run, std::int64_t dim) {
  if (!run.has_input(1)) return Dims(dim, 1);
  const Tensor& split = run.input(1);
  Dims sizes = split.to_ints();
  const auto is_part = [dim](std::int64_t size) { return size >= 0 && size <= dim; };
  if (split.rank() > 0 && !std::all_of(sizes.begin(), sizes.end(), is_part)) {
    throw Error("parts of {} elements found, each of 0 to {} needed", ir::to_string(sizes), dim);
  }
  if (split.rank() == 0) {
    const std::int64_t chunk = sizes[0];
    if (chunk <= 0) throw Error("parts of {} elements found, 1 or more needed", chunk);
    sizes.clear();
    for (std::int64_t first = 0; first < dim; first += chunk) sizes.push_back(std::min(chunk, dim - first));
  }
  std::int64_t total = 0;
  for (std::int64_t size : sizes) total += size;
  if (total != dim) throw Error("parts of {} elements in all found, {} needed", total, dim);
  return sizes;
}

PreparedKernel split_to_sequence(PrepareContext& context) {
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), rank);
  const bool squeeze = !context.has_input(1) && context.get_int("keepdims") == 0;
  return [dims, axis, squeeze](const RunContext& run) {
    const Tensor& input = run.input(0);
    const DataType type = input.type();
    const std::int64_t outer = count_of(dims, 0, axis);
    const std::int64_t inner = count_of(dims, axis + 1, dims.size());
    Items items;
    std::int64_t first = 0;
    for (std::int64_t size : part_sizes(run, dims[axis])) {
      Dims part = dims;
      part[axis] = size;
      if (squeeze) part.erase(part.begin() + axis);
      Tensor item(type, part);
      const std::int64_t row = size * inner;
      StridedCopy(type, {{outer, dims[axis] * inner, row}, {row, 1, 1}})
          .run(element_at(input.raw(), type, first), item.raw());
      first += row;
      items.emplace_back(std::move(item));
    }
    run.set(0, Datum::sequence(std::move(items)));
  };
}

// All items must agree but for the axis along which they are joined; with a new axis, in everything.
Dims joined_dims(const ir::Items& items, std::size_t axis, bool is_new) {
  Dims dims = items.front().tensor.dims();
  std::int64_t total = 0;
  for (const Datum& item : items) {
    Dims part = item.tensor.dims();
    if (!is_new && axis < part.size()) {
      total += part[axis];
      part[axis] = dims[axis];
    }
    if (part != dims) {
      throw Error("items {} and {} of the sequence do not join", ir::to_string(items.front().tensor.dims()),
                  ir::to_string(item.tensor.dims()));
    }
  }
  if (is_new) {
    dims.insert(dims.begin() + axis, std::ssize(items));
  } else {
    dims[axis] = total;
  }
  return dims;
}

PreparedKernel concat_from_sequence(PrepareContext& context) {
  const std::int64_t given = context.get_int("axis");
  const bool is_new = context.get_int("new_axis") != 0;
  return [given, is_new](const RunContext& run) {
    const ir::Items& items = items_of(run);
    if (items.empty()) throw Error("an empty sequence cannot be joined");
    const std::int64_t rank = items.front().tensor.rank() + (is_new ? 1 : 0);
    const std::int64_t axis = ir::normalized_axis(given, rank);
    Tensor result(items.front().tensor.type(), joined_dims(items, axis, is_new));
    const std::int64_t outer = count_of(result.dims(), 0, axis);
    const std::int64_t row = count_of(result.dims(), axis, result.dims().size());
    std::int64_t first = 0;
    for (const Datum& item : items) {
      const std::int64_t part = outer == 0 ? 0 : item.tensor.size() / outer;
      StridedCopy(result.type(), {{outer, part, row}, {part, 1, 1}})
          .run(item.tensor.raw(), element_at(result.raw(), result.type(), first));
      first += part;
    }
    run.set(0, std::move(result));
  };
}

PreparedKernel optional(PrepareContext& /*context*/) {
  return [](const RunContext& run) { run.set(0, run.has_input(0) ? owned(run.datum(0)) : Datum()); };
}

PreparedKernel optional_get_element(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const Datum& datum = run.datum(0);
    if (datum.is_nothing()) throw Error("the optional holds nothing");
    if (!datum.is_tensor()) return run.set(0, datum);
    const Tensor& from = datum.tensor;
    copy_elements(from.type(), from.raw(), run.output(0).raw(), from.size());
  };
}

PreparedKernel optional_has_element(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    *run.output(0).data<bool>() = run.has_input(0) && !run.datum(0).is_nothing();
  };
}

}  // namespace

std::span<const KernelSpec> sequence_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "SequenceEmpty", .prepare = sequence_empty},
      {.name = "SequenceConstruct", .prepare = sequence_construct},
      {.name = "SequenceInsert", .prepare = sequence_insert},
      {.name = "SequenceErase", .prepare = sequence_erase},
      {.name = "SequenceAt", .prepare = sequence_at},
      {.name = "SequenceLength", .prepare = sequence_length},
      {.name = "SplitToSequence", .prepare = split_to_sequence},
      {.name = "ConcatFromSequence", .prepare = concat_from_sequence},
      {.name = "Optional", .prepare = optional},
      {.name = "OptionalGetElement", .prepare = optional_get_element},
      {.name = "OptionalHasElement", .prepare = optional_has_element},
  };
  return kKernels;
}

}  // namespace podium::kernels
