// Ops that take parts of a tensor.
// An AxisSlice is first, step and count along one axis, after ONNX's rules: negative ends count from the end,
// what reaches beyond is clamped ([0, dim] forwards, [-1, dim - 1] backwards), and the count is rounded up.
// Split without sizes makes equal chunks, the last one smaller. Unknown dimensions stay unknown axis by axis.
#include "ir/ops/slice.h"

#include <algorithm>

#include "ir/ops/col2im.h"
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {

AxisSlice axis_slice(std::int64_t dim, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step == 0) throw Error("a step is 0");
  if (start < 0) start += dim;
  if (end < 0) end += dim;
  if (step > 0) {
    start = std::clamp<std::int64_t>(start, 0, dim);
    end = std::clamp<std::int64_t>(end, 0, dim);
    return {start, step, end <= start ? 0 : (end - start - 1) / step + 1};
  }
  start = std::clamp<std::int64_t>(start, -1, dim - 1);
  end = std::clamp<std::int64_t>(end, -1, dim - 1);
  // Any step this long takes one element; its negation does not overflow.
  step = std::max(step, -INT64_MAX);
  return {start, step, start <= end ? 0 : (start - end - 1) / -step + 1};
}

namespace {

void check_lengths(const Dims& starts, const Dims& ends, const Dims& axes, const Dims& steps,
                   std::size_t rank) {
  if (starts.size() != ends.size()) throw Error("{} starts and {} ends found", starts.size(), ends.size());
  if (starts.size() > rank) throw Error("{} starts found, at most {} needed", starts.size(), rank);
  if (!axes.empty() && axes.size() != starts.size()) {
    throw Error("{} axes and {} starts found", axes.size(), starts.size());
  }
  if (!steps.empty() && steps.size() != starts.size()) {
    throw Error("{} steps and {} starts found", steps.size(), starts.size());
  }
}

}  // namespace

std::vector<AxisSlice> slices_of(const Dims& dims, const Dims& starts, const Dims& ends, const Dims& axes,
                                 const Dims& steps) {
  check_lengths(starts, ends, axes, steps, dims.size());
  std::vector<AxisSlice> slices;
  for (std::int64_t dim : dims) slices.push_back({0, 1, dim});
  const auto rank = std::ssize(dims);
  const Dims where = axes.empty() ? all_axes(std::ssize(starts)) : distinct_axes(axes, rank);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::int64_t axis = where[i];
    const std::int64_t step = steps.empty() ? 1 : steps[i];
    slices[axis] = axis_slice(std::max<std::int64_t>(dims[axis], 0), starts[i], ends[i], step);
    if (dims[axis] == kUnknown) slices[axis].count = kUnknown;
  }
  return slices;
}

Dims chunk_sizes(std::int64_t dim, std::int64_t parts, std::int64_t first) {
  if (parts <= 0) throw Error("{} parts wanted, at least 1 needed", parts);
  const std::int64_t chunk = dim / parts + (dim % parts == 0 ? 0 : 1);
  Dims sizes;
  for (std::int64_t i = 0; i < first; ++i)
    sizes.push_back(std::clamp<std::int64_t>(dim - i * chunk, 0, chunk));
  return sizes;
}

namespace {

void infer_slice(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const auto list = [&](std::size_t i) { return context.has_input(i) ? known_list(context, i) : Dims{}; };
  const auto starts = list(1);
  const auto ends = list(2);
  const auto axes = list(3);
  const auto steps = list(4);
  if (starts && ends && axes && steps) {
    const std::vector<AxisSlice> slices = slices_of(dims, *starts, *ends, *axes, *steps);
    for (std::size_t i = 0; i < dims.size(); ++i) dims[i] = slices[i].count;
  } else if (axes && !axes->empty()) {
    for (std::int64_t axis : distinct_axes(*axes, rank)) dims[axis] = kUnknown;
  } else {
    const auto length = axes ? list_length(context, 1) : std::nullopt;
    std::fill_n(dims.begin(), std::clamp<std::int64_t>(length.value_or(rank), 0, rank), kUnknown);
  }
  context.set_output(0, context.element(0), std::move(dims));
}

// Sizes along the axis; empty: not known.
Dims split_sizes(const InferContext& context, std::int64_t dim) {
  const std::int64_t outputs = context.output_count();
  if (context.has_input(1)) {
    const auto given = known_list(context, 1);
    if (!given) return {};
    if (std::ssize(*given) != outputs) throw Error("{} parts and {} outputs found", given->size(), outputs);
    std::int64_t total = 0;
    for (std::int64_t size : *given) {
      if (size < 0) throw Error("a part of {} elements is wanted", size);
      total = plus(total, size);
    }
    if (dim != kUnknown && total != dim)
      throw Error("parts of {} elements in all found, {} needed", total, dim);
    return *given;
  }
  const auto* parts = context.get_if<std::int64_t>("num_outputs");
  const std::int64_t count = parts == nullptr ? outputs : *parts;
  if (count < outputs) throw Error("num_outputs is {}, {} outputs found", count, outputs);
  return dim == kUnknown ? Dims{} : chunk_sizes(dim, count, outputs);
}

void infer_split(InferContext& context) {
  if (!context.has_rank(0)) {
    for (std::size_t i = 0; i < context.output_count(); ++i)
      context.set_output_element(i, context.element(0));
    return;
  }
  Dims dims = context.dims(0);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), std::ssize(dims));
  const Dims sizes = split_sizes(context, dims[axis]);
  for (std::size_t i = 0; i < context.output_count(); ++i) {
    dims[axis] = sizes.empty() ? kUnknown : sizes[i];
    context.set_output(i, context.element(0), dims);
  }
}

void infer_center_crop_pad(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const auto* given = context.get_if<IntList>("axes");
  const Dims axes = given == nullptr ? all_axes(rank) : distinct_axes(*given, rank);
  const auto shape = known_list(context, 1);
  if (shape && shape->size() != axes.size()) {
    throw Error("a shape of {} dimensions found, {} needed", shape->size(), axes.size());
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    dims[axes[i]] = shape ? (*shape)[i] : kUnknown;
    if (shape && (*shape)[i] < 0) throw Error("dimension {} of the wanted shape is {}", i, (*shape)[i]);
  }
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_trilu(InferContext& context) {
  if (context.has_rank(0) && context.dims(0).size() < 2) {
    throw Error("input is {}, a matrix or a batch of them needed", to_string(context.input(0)));
  }
  const std::int64_t numbers = context.has_input(1) ? context.input(1).element_count() : 1;
  if (numbers != kUnknown && numbers != 1) {
    throw Error("k is {}, one number needed", to_string(context.input(1)));
  }
  context.set_output(0, context.input(0));
}

std::int64_t divided(std::int64_t dim, std::int64_t by, std::string_view what) {
  if (dim == kUnknown) return kUnknown;
  if (dim % by != 0) throw Error("{} {} do not divide by {}", dim, what, by);
  return dim / by;
}

std::int64_t block_size(const InferContext& context) {
  const std::int64_t block = context.get_int("blocksize");
  if (block < 1 || block > INT32_MAX) throw Error("blocksize is {}", block);
  if (context.has_rank(0) && context.dims(0).size() != 4) {
    throw Error("input is {}, rank 4 needed", to_string(context.input(0)));
  }
  return block;
}

void infer_depth_to_space(InferContext& context) {
  const std::int64_t block = block_size(context);
  const std::string& mode = context.get_string("mode");
  if (mode != "DCR" && mode != "CRD") throw Error("mode is '{}', DCR or CRD needed", mode);
  if (!context.has_rank(0)) return set_output_rank(context, 0, context.element(0), 4);
  const Dims& x = context.dims(0);
  context.set_output(
      0, context.element(0),
      {x[0], divided(x[1], block * block, "channels"), times(x[2], block), times(x[3], block)});
}

void infer_space_to_depth(InferContext& context) {
  const std::int64_t block = block_size(context);
  if (!context.has_rank(0)) return set_output_rank(context, 0, context.element(0), 4);
  const Dims& x = context.dims(0);
  context.set_output(
      0, context.element(0),
      {x[0], times(x[1], block * block), divided(x[2], block, "rows"), divided(x[3], block, "columns")});
}

// Steps back along the samples would turn them round.
bool slice_samples(const SampledOp& op) {
  const Tensor* axes = op.typed.constant(3);
  const Tensor* steps = op.typed.constant(4);
  if (!keeps_whole_axis(op) || !op.typed.has_input(4)) return keeps_whole_axis(op);
  if (axes == nullptr || steps == nullptr) return false;
  for (std::int64_t i = 0; i < axes->size(); ++i) {
    const std::int64_t axis = normalized_axis(axes->to_ints()[i], op.typed.input(0).rank());
    if (axis == op.inputs[0] && steps->to_ints()[i] < 0) return false;
  }
  return true;
}

// Every entry of every axis, in the old order.
bool takes_all(const TypedOp& op) {
  constexpr std::size_t kSteps = 4;
  return keeps_first_shape(op) && (!op.has_input(kSteps) || all_equal(op, kSteps, 1));
}

OpSpec slice_row() {
  return {.name = "Slice",
          .since = 13,
          .inputs = {{"data"},
                     {"starts", 'I'},
                     {"ends", 'I'},
                     {"axes", 'I', Formal::Optional},
                     {"steps", 'I', Formal::Optional}},
          .outputs = {{"output"}},
          .types = {{'T', kAnyType}, {'I', kIndices}},
          .infer = infer_slice,
          .work = work_of_picking,
          .hands_on = takes_all,
          .samples = slice_samples};
}

OpSpec split_row() {
  return {.name = "Split",
          .since = 18,
          .inputs = {{"input"}, {"split", 'I', Formal::Optional}},
          .outputs = {{"outputs", 'T', Formal::Variadic}},
          .types = {{'T', kAnyType}, {'I', kInt64}},
          .attributes = {with_default("axis", std::int64_t{0}), may_have("num_outputs", AttributeKind::Int)},
          .infer = infer_split,
          .work = work_of_moving,
          .samples = along_attribute};
}

}  // namespace

std::span<const OpSpec> slice_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain}, {
                                                slice_row(),
                                                split_row(),
                                                {.name = "CenterCropPad",
                                                 .since = 18,
                                                 .gained = 18,
                                                 .inputs = {{"input_data"}, {"shape", 'I'}},
                                                 .outputs = {{"output_data"}},
                                                 .types = {{'T', kAnyType}, {'I', kIndices}},
                                                 .attributes = {may_have("axes", AttributeKind::Ints)},
                                                 .infer = infer_center_crop_pad,
                                                 .work = work_of_moving,
                                                 .no_samples = kNotWorkedOut},
                                                {.name = "Trilu",
                                                 .since = 14,
                                                 .gained = 14,
                                                 .inputs = {{"input"}, {"k", 'I', Formal::Optional}},
                                                 .outputs = {{"output"}},
                                                 .types = {{'T', kAnyType}, {'I', kInt64}},
                                                 .attributes = {with_default("upper", std::int64_t{1})},
                                                 .infer = infer_trilu,
                                                 .work = work_of_moving,
                                                 .in_place = kFirstInput,
                                                 .no_samples = kNotWorkedOut},
                                                {.name = "DepthToSpace",
                                                 .since = 13,
                                                 .inputs = {{"input"}},
                                                 .outputs = {{"output"}},
                                                 .types = {{'T', kAnyType}},
                                                 .attributes = {must_have("blocksize", AttributeKind::Int),
                                                                with_default("mode", std::string("DCR"))},
                                                 .infer = infer_depth_to_space,
                                                 .work = work_of_moving,
                                                 .samples = first_axis},
                                                {.name = "SpaceToDepth",
                                                 .since = 28,
                                                 .inputs = {{"input"}},
                                                 .outputs = {{"output"}},
                                                 .types = {{'T', kAnyType}},
                                                 .attributes = {must_have("blocksize", AttributeKind::Int),
                                                                with_default("mode", std::string("DCR"))},
                                                 .infer = infer_space_to_depth,
                                                 .work = work_of_moving,
                                                 .samples = first_axis},
                                                col2im_row(),
                                            });
  return kRows;
}

}  // namespace podium::ir
