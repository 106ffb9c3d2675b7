// Questions about shapes, views, and elements laid out anew. What the devices of a group exchange is here for
// graphs that run as they are: the engine computes these ops as steps of the Program
// (executor/numeric/collectives.h).
#include <algorithm>

#include "executor/kernels/families.h"
#include "executor/kernels/tools/add_up.h"
#include "executor/kernels/tools/strides.h"
#include "ir/ops/group_exchange.h"
#include "ir/ops/replicated.h"

namespace podium::kernels {
namespace {

PreparedKernel shape(PrepareContext& context) {
  const std::int64_t start = context.get_int("start");
  const std::int64_t rank = std::ssize(context.dims(0));
  const std::int64_t first = std::clamp<std::int64_t>(start < 0 ? start + rank : start, 0, rank);
  return [first](const RunContext& run) {
    const auto values = run.output(0).values<std::int64_t>();
    std::copy_n(run.input(0).dims().begin() + first, values.size(), values.begin());
  };
}

PreparedKernel size(PrepareContext& /*context*/) {
  return [](const RunContext& run) { *run.output(0).data<std::int64_t>() = run.input(0).size(); };
}

// The memory planner may have given the output the input's memory; if not, the elements are copied.
PreparedKernel same_elements(PrepareContext& /*context*/) {
  return [](const RunContext& run) {
    const Tensor& from = run.input(0);
    Tensor& to = run.output(0);
    if (from.raw() != to.raw()) copy_elements(from.type(), from.raw(), to.raw(), from.size());
  };
}

PreparedKernel identity(PrepareContext& context) {
  const PreparedKernel copy = same_elements(context);
  return [copy](const RunContext& run) {
    if (run.datum(0).is_tensor()) return copy(run);
    run.set(0, run.datum(0));
  };
}

// Of a group of one; exchanges of more replicas are steps of a Program, which no kernel computes.
PreparedKernel exchange_alone(PrepareContext& context) {
  const std::int64_t members = ir::group_members(context.op).value_or(1);
  if (members != 1) throw Error("an exchange of {} replicas found where one computes alone", members);
  return same_elements(context);
}

PreparedKernel strided(DataType type, const std::vector<MoveLoop>& loops) {
  return [move = StridedCopy(type, loops)](const RunContext& run) {
    move.run(run.input(0).raw(), run.output(0).raw());
  };
}

PreparedKernel expand(PrepareContext& context) {
  const Dims& from = context.dims(0);
  const Dims& to = context.output(0).dims;
  const Dims from_strides = strides_of(from);
  const Dims to_strides = strides_of(to);
  std::vector<MoveLoop> loops;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::size_t missing = to.size() - from.size();
    const bool stretched = i < missing || from[i - missing] == 1;
    loops.push_back({to[i], stretched ? 0 : from_strides[i - missing], to_strides[i]});
  }
  return strided(context.element(0), loops);
}

PreparedKernel tile(PrepareContext& context) {
  const Dims& from = context.dims(0);
  const Dims& to = context.output(0).dims;
  const Dims from_strides = strides_of(from);
  const Dims to_strides = strides_of(to);
  std::vector<MoveLoop> loops;
  for (std::size_t i = 0; i < to.size(); ++i) {
    const std::int64_t repeats = from[i] == 0 ? 0 : to[i] / from[i];
    loops.push_back({repeats, 0, to_strides[i] * from[i]});
    loops.push_back({from[i], from_strides[i], to_strides[i]});
  }
  return strided(context.element(0), loops);
}

PreparedKernel concat(PrepareContext& context) {
  const Dims& to = context.output(0).dims;
  const std::int64_t axis = ir::normalized_axis(context.get_int("axis"), std::ssize(to));
  const std::int64_t outer = count_of(to, 0, axis);
  const std::int64_t row = count_of(to, axis, to.size());
  struct Part {
    StridedCopy move;
    std::int64_t offset;
  };
  std::vector<Part> parts;
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const std::int64_t part = count_of(context.dims(i), axis, to.size());
    parts.push_back({StridedCopy(context.element(0), {{outer, part, row}, {part, 1, 1}}), offset});
    offset += part;
  }
  return [parts](const RunContext& run) {
    Tensor& output = run.output(0);
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].move.run(run.input(i).raw(), element_at(output.raw(), output.type(), parts[i].offset));
    }
  };
}

PreparedKernel transpose(PrepareContext& context) {
  const Dims& from = context.dims(0);
  const Dims from_strides = strides_of(from);
  const Dims to_strides = strides_of(context.output(0).dims);
  const ir::IntList* perm = context.get_if<ir::IntList>("perm");
  const auto rank = std::ssize(from);
  std::vector<MoveLoop> loops;
  for (std::int64_t i = 0; i < rank; ++i) {
    const std::int64_t axis = perm == nullptr ? rank - 1 - i : ir::normalized_axis((*perm)[i], rank);
    loops.push_back({from[axis], from_strides[axis], to_strides[i]});
  }
  return strided(context.element(0), loops);
}

// An exchange in a group whose members are one processor: every member's result is made by itself.
Combine combine_of(const PrepareContext& context) {
  return ir::reduces_to_largest(context.op) ? Combine::Largest : Combine::Sum;
}

std::vector<const Tensor*> operands(const RunContext& run) {
  std::vector<const Tensor*> all;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) all.push_back(&run.input(i));
  return all;
}

PreparedKernel group_all_reduce(PrepareContext& context) {
  return [how = combine_of(context)](const RunContext& run) {
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      if (run.has_output(i)) reduce(operands(run), how, run.output(i));
    }
  };
}

PreparedKernel group_reduce_scatter(PrepareContext& context) {
  return [how = combine_of(context), axis = context.get_int("axis"),
          sizes = ir::attribute<ir::IntList>(context.op, ir::kGroupSizes)](const RunContext& run) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      if (run.has_output(i)) reduce_part(operands(run), how, axis, first, run.output(i));
      first += sizes[i];
    }
  };
}

PreparedKernel group_all_gather(PrepareContext& context) {
  return [axis = context.get_int("axis")](const RunContext& run) {
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      if (run.has_output(i)) gather(operands(run), axis, run.output(i));
    }
  };
}

PreparedKernel group_all_to_all(PrepareContext& context) {
  return [axis = context.get_int("axis"), scatter_axis = context.get_int(ir::kGroupScatterAxis),
          sizes = ir::attribute<ir::IntList>(context.op, ir::kGroupSizes)](const RunContext& run) {
    std::int64_t first = 0;
    for (std::size_t i = 0; i < run.outputs.size(); ++i) {
      if (run.has_output(i)) gather_share(operands(run), axis, {scatter_axis, first}, run.output(i));
      first += sizes[i];
    }
  };
}

}  // namespace

std::span<const KernelSpec> shape_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Shape", .prepare = shape},
      {.name = "Size", .prepare = size},
      {.name = "Reshape", .prepare = same_elements},
      {.name = "Flatten", .prepare = same_elements},
      {.name = "Squeeze", .prepare = same_elements},
      {.name = "Unsqueeze", .prepare = same_elements},
      {.name = "Identity", .prepare = identity},
      {.name = "Expand", .prepare = expand},
      {.name = "Tile", .prepare = tile},
      {.name = "Concat", .prepare = concat},
      {.name = "Transpose", .prepare = transpose},
      {.name = "ReplicatedAllGather", .prepare = exchange_alone, .domain = "podium"},
      {.name = "ReplicatedAllReduce", .prepare = exchange_alone, .domain = "podium"},
      {.name = "ReplicatedReduceScatter", .prepare = exchange_alone, .domain = "podium"},
      {.name = ir::kGroupAllGather, .prepare = group_all_gather, .domain = "podium"},
      {.name = ir::kGroupAllReduce, .prepare = group_all_reduce, .domain = "podium"},
      {.name = ir::kGroupAllToAll, .prepare = group_all_to_all, .domain = "podium"},
      {.name = ir::kGroupReduceScatter, .prepare = group_reduce_scatter, .domain = "podium"},
  };
  return kKernels;
}

}  // namespace podium::kernels
