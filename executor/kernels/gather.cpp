// Kernels that read elements at given indices, or choose and turn them.
// Most are one pattern: turn the indices into offsets in scratch memory (checked and made non-negative), then
// move blocks of neighbouring elements by their size in bytes, whatever the type.
#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/scatter.h"
#include "executor/kernels/tools/dispatch.h"
#include "executor/kernels/tools/indices.h"
#include "executor/kernels/tools/strides.h"
#include "executor/kernels/tools/unit.h"

namespace podium::kernels {
namespace {

std::span<const std::int64_t> in_scratch(const RunContext& run, std::int64_t count) {
  return std::span(run.scratch<std::int64_t>(), count);
}

std::int64_t axis_of(const PrepareContext& context) {
  return ir::normalized_axis(context.get_int("axis"), std::ssize(context.dims(0)));
}

PreparedKernel gather(PrepareContext& context) {
  const Dims& data = context.dims(0);
  const std::int64_t axis = axis_of(context);
  const std::int64_t outer = count_of(data, 0, axis);
  const std::int64_t block = count_of(data, axis + 1, data.size());
  const std::int64_t limit = data[axis];
  context.need_scratch(ir::element_count(context.dims(1)) * sizeof(std::int64_t));
  return [outer, block, limit](const RunContext& run) {
    read_indices(run.input(1), limit, run.scratch<std::int64_t>());
    // Few rows of a large table are read: they may stay in the model's file.
    gather_blocks(run.input(0).type(), run.input(0).raw_bytes(), run.output(0).raw(), outer, limit, block,
                  in_scratch(run, run.input(1).size()));
  };
}

PreparedKernel gather_elements(PrepareContext& context) {
  const Dims data = context.dims(0);
  const std::int64_t axis = axis_of(context);
  context.need_scratch(ir::element_count(context.dims(1)) * sizeof(std::int64_t));
  return [data, axis](const RunContext& run) {
    element_offsets(run.input(1), data, axis, run.scratch<std::int64_t>());
    gather_blocks(run.input(0).type(), run.input(0).raw(), run.output(0).raw(), 1, 0, 1,
                  in_scratch(run, run.input(1).size()));
  };
}

PreparedKernel gather_nd(PrepareContext& context) {
  const Dims data = context.dims(0);
  const Dims& indices = context.dims(1);
  const std::int64_t batch_dims = context.get_int("batch_dims");
  const std::int64_t rows = count_of(indices, 0, indices.size() - 1);
  const std::int64_t block = count_of(data, batch_dims + indices.back(), data.size());
  context.need_scratch(rows * sizeof(std::int64_t));
  return [data, batch_dims, rows, block](const RunContext& run) {
    auto* offsets = run.scratch<std::int64_t>();
    row_offsets(run.input(1), data, batch_dims, offsets);
    // Offsets count elements, so a block begins wherever an element does.
    const DataType type = run.input(0).type();
    const std::int64_t element = storage_bytes(type);
    with_block(type, block, [&](auto move, std::int64_t bytes) {
      const auto* from = static_cast<const std::byte*>(run.input(0).raw());
      auto* to = static_cast<std::byte*>(run.output(0).raw());
      for (std::int64_t row = 0; row < rows; ++row) move(from + offsets[row] * element, to + row * bytes);
    });
  };
}

PreparedKernel compress(PrepareContext& context) {
  const auto* given = context.get_if<std::int64_t>("axis");
  Dims dims = context.dims(0);
  if (given == nullptr) dims = {ir::element_count(dims)};
  const auto rank = std::ssize(dims);
  const std::int64_t axis = given == nullptr ? 0 : ir::normalized_axis(*given, rank);
  const std::int64_t outer = count_of(dims, 0, axis);
  const std::int64_t block = count_of(dims, axis + 1, dims.size());
  const std::int64_t limit = dims[axis];
  context.need_scratch(limit * sizeof(std::int64_t));
  return [outer, block, limit](const RunContext& run) {
    auto* chosen = run.scratch<std::int64_t>();
    std::int64_t count = 0;
    const auto condition = run.input(1).values<bool>();
    const std::int64_t length = std::min(limit, std::ssize(condition));
    for (std::int64_t i = 0; i < length; ++i) {
      if (condition[i]) chosen[count++] = i;
    }
    gather_blocks(run.input(0).type(), run.input(0).raw(), run.output(0).raw(), outer, limit, block,
                  in_scratch(run, count));
  };
}

// Numbers of any type as whole ones.
void read_whole(const Tensor& numbers, std::int64_t* out) {
  dispatch<float, double, ir::Float16, ir::Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
           std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>(numbers.type(), [&](auto tag) {
    using T = decltype(tag);
    const T* number = numbers.data<T>();
    for (std::int64_t i = 0; i < numbers.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        out[i] = static_cast<std::int64_t>(number[i]);
      } else {
        out[i] = static_cast<std::int64_t>(static_cast<float>(number[i]));
      }
    }
    return true;
  });
}

PreparedKernel one_hot(PrepareContext& context) {
  const Dims& dims = context.output(0).dims;
  const auto rank = std::ssize(dims);
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), rank);
  const std::int64_t outer = count_of(dims, 0, axis);
  const std::int64_t depth = dims[axis];
  const std::int64_t inner = count_of(dims, axis + 1, dims.size());
  context.need_scratch(outer * inner * sizeof(std::int64_t));
  return [outer, depth, inner](const RunContext& run) {
    Tensor& output = run.output(0);
    const DataType type = output.type();
    fill_elements(type, run.input(2).raw(), output.raw(), output.size());
    auto* indices = run.scratch<std::int64_t>();
    read_whole(run.input(0), indices);
    const void* on = element_at(run.input(2).raw(), type, 1);
    for (std::int64_t i = 0; i < outer; ++i) {
      for (std::int64_t k = 0; k < inner; ++k) {
        const std::int64_t given = indices[i * inner + k];
        const std::int64_t hot = given < 0 ? given + depth : given;
        if (hot < 0 || hot >= depth) continue;
        copy_elements(type, on, element_at(output.raw(), type, (i * depth + hot) * inner + k), 1);
      }
    }
  };
}

PreparedKernel reverse_sequence(PrepareContext& context) {
  const Dims& dims = context.dims(0);
  const bool time_first = context.get_int("time_axis") == 0;
  const std::int64_t steps = dims[time_first ? 0 : 1];
  const std::int64_t batch = dims[time_first ? 1 : 0];
  const std::int64_t block = count_of(dims, 2, dims.size());
  const std::int64_t step_stride = time_first ? batch : 1;
  const std::int64_t batch_stride = time_first ? 1 : steps;
  return [=](const RunContext& run) {
    const auto lengths = run.input(1).values<std::int64_t>();
    with_block(run.input(0).type(), block, [&](auto move, std::int64_t bytes) {
      const auto* from = static_cast<const std::byte*>(run.input(0).raw());
      auto* to = static_cast<std::byte*>(run.output(0).raw());
      for (std::int64_t b = 0; b < batch; ++b) {
        const std::int64_t length = lengths[b];
        if (length < 0 || length > steps)
          throw Error("a sequence is {} long, at most {} needed", length, steps);
        for (std::int64_t t = 0; t < steps; ++t) {
          const std::int64_t source = t < length ? length - 1 - t : t;
          move(from + (source * step_stride + b * batch_stride) * bytes,
               to + (t * step_stride + b * batch_stride) * bytes);
        }
      }
    });
  };
}

}  // namespace

std::span<const KernelSpec> gather_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Gather", .prepare = gather},
      {.name = "GatherElements", .prepare = gather_elements},
      {.name = "GatherND", .prepare = gather_nd},
      {.name = "ScatterElements", .prepare = scatter_elements, .in_place = 1},
      {.name = "ScatterND", .prepare = scatter_nd, .in_place = 1},
      {.name = "TensorScatter", .prepare = tensor_scatter, .in_place = 1},
      {.name = "Compress", .prepare = compress},
      {.name = "OneHot", .prepare = one_hot},
      {.name = "ReverseSequence", .prepare = reverse_sequence},
  };
  return kKernels;
}

}  // namespace podium::kernels
