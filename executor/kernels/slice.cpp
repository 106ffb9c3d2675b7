// Kernels that take parts of a tensor or put its blocks in another order.
// All are strided copies (StridedCopy): a loop per axis with a step in the source and one in the target.
// Slices, splits and crops choose where loops begin and how far they go; DepthToSpace and SpaceToDepth
// permute the axes of a reshaped tensor. What is constant is planned once, the rest in each run.
#include "ir/ops/slice.h"

#include <algorithm>
#include <array>
#include <functional>

#include "executor/kernels/col2im.h"
#include "executor/kernels/families.h"
#include "executor/kernels/tools/strides.h"

namespace podium::kernels {
namespace {

// A copy and where in the source it begins.
struct SliceCopy {
  StridedCopy move;
  std::int64_t first;
};

SliceCopy slice_copy(DataType type, const Dims& dims, const std::vector<ir::AxisSlice>& slices) {
  const Dims from = strides_of(dims);
  Dims counts;
  for (const ir::AxisSlice& slice : slices) counts.push_back(slice.count);
  const Dims to = strides_of(counts);
  std::vector<MoveLoop> loops;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    // Nothing is stepped over when there is one element; the product could overflow.
    const std::int64_t step = slices[i].count > 1 ? slices[i].step * from[i] : 0;
    loops.push_back({slices[i].count, step, to[i]});
    if (slices[i].count > 0) first += slices[i].first * from[i];
  }
  return {StridedCopy(type, loops), first};
}

// Input i as a list, from wherever `tensor_of` finds it; empty when it is left out.
template <class TensorOf>
std::vector<ir::AxisSlice> read_slices(const Dims& dims, const std::array<bool, 5>& there,
                                       TensorOf tensor_of) {
  const auto list = [&](std::size_t i) { return there[i] ? tensor_of(i)->to_ints() : Dims{}; };
  return ir::slices_of(dims, list(1), list(2), list(3), list(4));
}

void run_slice(const SliceCopy& copy, const RunContext& run) {
  const Tensor& input = run.input(0);
  copy.move.run(element_at(input.raw(), input.type(), copy.first), run.output(0).raw());
}

PreparedKernel slice(PrepareContext& context) {
  const Dims dims = context.dims(0);
  const DataType type = context.element(0);
  std::array<bool, 5> there{};
  bool is_constant = true;
  for (std::size_t i = 1; i < 5; ++i) {
    there[i] = context.has_input(i);
    is_constant = is_constant && (!there[i] || context.constant(i) != nullptr);
  }
  if (is_constant) {
    const auto slices = read_slices(dims, there, [&](std::size_t i) { return context.constant(i); });
    return [copy = slice_copy(type, dims, slices)](const RunContext& run) { run_slice(copy, run); };
  }
  return [dims, type, there](const RunContext& run) {
    const auto slices = read_slices(dims, there, [&](std::size_t i) { return &run.input(i); });
    run_slice(slice_copy(type, dims, slices), run);
  };
}

struct SplitPlan {
  DataType type;
  Dims dims;
  std::size_t axis;
  std::vector<bool> there;  // outputs that are not left out
};

struct SplitPart {
  std::size_t output;
  SliceCopy copy;
};

std::vector<SplitPart> split_parts(const SplitPlan& plan, const Dims& sizes) {
  const std::int64_t outer = count_of(plan.dims, 0, plan.axis);
  const std::int64_t row = count_of(plan.dims, plan.axis, plan.dims.size());
  const std::int64_t inner = count_of(plan.dims, plan.axis + 1, plan.dims.size());
  std::vector<SplitPart> parts;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < plan.there.size(); ++i) {
    const std::int64_t size = sizes[i] * inner;
    if (plan.there[i])
      parts.push_back({i, {StridedCopy(plan.type, {{outer, row, size}, {size, 1, 1}}), first}});
    first += size;
  }
  return parts;
}

void run_split(const std::vector<SplitPart>& parts, const RunContext& run) {
  const Tensor& input = run.input(0);
  for (const SplitPart& part : parts) {
    part.copy.move.run(element_at(input.raw(), input.type(), part.copy.first), run.output(part.output).raw());
  }
}

PreparedKernel split(PrepareContext& context) {
  SplitPlan plan{context.element(0), context.dims(0), 0, {}};
  const auto rank = std::ssize(plan.dims);
  plan.axis = ir::normalized_axis(context.get_int("axis"), rank);
  for (std::size_t i = 0; i < context.output_count(); ++i) plan.there.push_back(context.has_output(i));
  if (context.has_input(1) && context.constant(1) == nullptr) {
    return [plan](const RunContext& run) { run_split(split_parts(plan, run.input(1).to_ints()), run); };
  }
  const auto* count = context.get_if<std::int64_t>("num_outputs");
  const std::int64_t outputs = context.output_count();
  const Dims sizes = context.has_input(1) ? context.constant(1)->to_ints()
                                          : ir::chunk_sizes(plan.dims[plan.axis],
                                                            count == nullptr ? outputs : *count, outputs);
  return [parts = split_parts(plan, sizes)](const RunContext& run) { run_split(parts, run); };
}

PreparedKernel center_crop_pad(PrepareContext& context) {
  const Dims& from = context.dims(0);
  const Dims& to = context.output(0).dims;
  const Dims from_strides = strides_of(from);
  const Dims to_strides = strides_of(to);
  std::vector<MoveLoop> loops;
  std::int64_t source = 0;
  std::int64_t target = 0;
  for (std::size_t i = 0; i < from.size(); ++i) {
    loops.push_back({std::min(from[i], to[i]), from_strides[i], to_strides[i]});
    source += std::max<std::int64_t>(from[i] - to[i], 0) / 2 * from_strides[i];
    target += std::max<std::int64_t>(to[i] - from[i], 0) / 2 * to_strides[i];
  }
  const bool pads = !std::equal(from.begin(), from.end(), to.begin(), std::greater_equal<>());
  return [move = StridedCopy(context.element(0), loops), source, target, pads](const RunContext& run) {
    const Tensor& input = run.input(0);
    Tensor& output = run.output(0);
    if (pads) zero_elements(output.type(), output.raw(), output.size());
    move.run(element_at(input.raw(), input.type(), source), element_at(output.raw(), output.type(), target));
  };
}

// Row `row` keeps elements from row + k on (upper), or up to row + k (lower).
void cut_triangle(const Tensor& input, Tensor& output, std::int64_t k, bool upper) {
  const std::int64_t columns = input.dim(input.rank() - 1);
  const std::int64_t rows = input.dim(input.rank() - 2);
  const std::int64_t matrices = columns * rows == 0 ? 0 : input.size() / (columns * rows);
  k = std::clamp(k, -rows - 1, columns + 1);
  const DataType type = input.type();
  for (std::int64_t row = 0; row < matrices * rows; ++row) {
    const std::int64_t edge = std::clamp<std::int64_t>(row % rows + k + (upper ? 0 : 1), 0, columns);
    const std::int64_t start = row * columns;
    const std::int64_t kept = start + (upper ? edge : 0);
    const std::int64_t cut = start + (upper ? 0 : edge);
    if (input.raw() != output.raw()) {
      copy_elements(type, element_at(input.raw(), type, kept), element_at(output.raw(), type, kept),
                    upper ? columns - edge : edge);
    }
    zero_elements(type, element_at(output.raw(), type, cut), upper ? edge : columns - edge);
  }
}

PreparedKernel trilu(PrepareContext& context) {
  const bool upper = context.get_int("upper") != 0;
  const bool has_k = context.has_input(1);
  return [upper, has_k](const RunContext& run) {
    const std::int64_t k = has_k ? run.input(1).to_ints().at(0) : 0;
    cut_triangle(run.input(0), run.output(0), k, upper);
  };
}

// A copy of `shape`, whose axes become the target's axes in the order of `perm`.
PreparedKernel permuted(DataType type, const Dims& shape, const std::vector<std::size_t>& perm) {
  const Dims from = strides_of(shape);
  Dims target;
  for (std::size_t axis : perm) target.push_back(shape[axis]);
  const Dims to = strides_of(target);
  std::vector<MoveLoop> loops;
  for (std::size_t i = 0; i < perm.size(); ++i) loops.push_back({target[i], from[perm[i]], to[i]});
  return [move = StridedCopy(type, loops)](const RunContext& run) {
    move.run(run.input(0).raw(), run.output(0).raw());
  };
}

PreparedKernel depth_to_space(PrepareContext& context) {
  const Dims& x = context.dims(0);
  const std::int64_t block = context.get_int("blocksize");
  const std::int64_t channels = x[1] / (block * block);
  if (context.get_string("mode") == "DCR") {
    return permuted(context.element(0), {x[0], block, block, channels, x[2], x[3]}, {0, 3, 4, 1, 5, 2});
  }
  return permuted(context.element(0), {x[0], channels, block, block, x[2], x[3]}, {0, 1, 4, 2, 5, 3});
}

PreparedKernel space_to_depth(PrepareContext& context) {
  const Dims& x = context.dims(0);
  const std::int64_t block = context.get_int("blocksize");
  const std::string& mode = context.get_string("mode");
  if (mode != "DCR" && mode != "CRD") throw Error("mode is \"{}\", DCR or CRD needed", mode);
  using Order = std::vector<std::size_t>;
  const Order order = mode == "DCR" ? Order{0, 3, 5, 1, 2, 4} : Order{0, 1, 3, 5, 2, 4};
  return permuted(context.element(0), {x[0], x[1], x[2] / block, block, x[3] / block, block}, order);
}

}  // namespace

std::span<const KernelSpec> slice_kernels() {
  static const std::vector<KernelSpec> kKernels{
      {.name = "Slice", .prepare = slice},
      {.name = "Split", .prepare = split},
      {.name = "CenterCropPad", .prepare = center_crop_pad},
      {.name = "Trilu", .prepare = trilu, .in_place = 1},
      {.name = "DepthToSpace", .prepare = depth_to_space},
      {.name = "SpaceToDepth", .prepare = space_to_depth},
      {.name = "Col2Im", .prepare = col2im},
  };
  return kKernels;
}

}  // namespace podium::kernels
