// Ops about shapes, and those that lay elements out anew: reshaping, joining, repeating, transposing.
// Shape and Size become constants as soon as the dimensions they ask for are known. A Reshape with a -1
// divides what is left of the input by what is given, after dimensions that a 0 copies have cancelled out,
// also unknown ones. Where a list of axes or a shape is known only at run time, its length still gives the
// rank.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"
#include "ir/ops/totals.h"

namespace podium::ir {
namespace {

void infer_shape(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output(0, DataType::Int64, {kUnknown});
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const auto clamp = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const std::int64_t* end = context.get_if<std::int64_t>("end");
  const std::int64_t from = clamp(context.get_int("start"));
  const std::int64_t to = std::max(from, end == nullptr ? rank : clamp(*end));
  const Dims part(dims.begin() + from, dims.begin() + to);
  if (std::find(part.begin(), part.end(), kUnknown) == part.end())
    return context.set_constant(0, Tensor::ints(part));
  context.set_output(0, DataType::Int64, {to - from});
}

void infer_size(InferContext& context) {
  const std::int64_t count = context.has_rank(0) ? known_count(context.dims(0)) : kUnknown;
  if (count != kUnknown) return context.set_constant(0, Tensor::scalar(count));
  context.set_output(0, DataType::Int64, {});
}

// The dimension that stands at -1. Input dimensions that a 0 copies cancel out even when they are unknown.
std::int64_t remaining_dim(const Dims& dims, const Dims& shape, const std::vector<bool>& copied,
                           std::size_t gap) {
  Dims left_of_input;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i >= copied.size() || !copied[i]) left_of_input.push_back(dims[i]);
  }
  std::int64_t given = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == gap || copied[i]) continue;
    if (__builtin_mul_overflow(given, shape[i], &given)) {
      throw Error("the wanted shape has more elements than 63 bits can count");
    }
  }
  const std::int64_t count = known_count(left_of_input);
  if (count == kUnknown) return kUnknown;
  if (count % given != 0) throw Error("{} elements do not divide into {}", count, given);
  return count / given;
}

Dims reshaped_dims(const Dims& dims, Dims shape, bool zero_is_zero) {
  std::vector<bool> copied(shape.size(), false);
  std::size_t gap = shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < -1) throw Error("dimension {} of the wanted shape is {}", i, shape[i]);
    if (shape[i] == -1) {
      if (gap != shape.size()) throw Error("the wanted shape has -1 twice");
      gap = i;
    } else if (shape[i] == 0 && !zero_is_zero) {
      if (i >= dims.size())
        throw Error("the wanted shape has 0 at {}, the input only {} dimensions", i, dims.size());
      copied[i] = true;
      shape[i] = dims[i];
    }
  }
  if (gap != shape.size()) {
    if (zero_is_zero && std::find(shape.begin(), shape.end(), 0) != shape.end()) {
      throw Error("the wanted shape has both 0 and -1 where allowzero is 1");
    }
    shape[gap] = remaining_dim(dims, shape, copied, gap);
  }
  const std::int64_t before = known_count(dims);
  const std::int64_t after = known_count(shape);
  if (before != kUnknown && after != kUnknown && before != after) {
    throw Error("{} with {} elements cannot become {} with {}", to_string(dims), before, to_string(shape),
                after);
  }
  return shape;
}

void infer_reshape(InferContext& context) {
  const auto shape = known_list(context, 1);
  if (!shape) return set_output_rank(context, 0, context.element(0), list_length(context, 1));
  const bool zero_is_zero = context.get_int("allowzero") != 0;
  if (context.has_rank(0)) {
    return context.set_output(0, context.element(0), reshaped_dims(context.dims(0), *shape, zero_is_zero));
  }
  Dims dims = *shape;
  if (!zero_is_zero) std::replace(dims.begin(), dims.end(), std::int64_t{0}, kUnknown);
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_flatten(InferContext& context) {
  if (!context.has_rank(0)) return set_output_rank(context, 0, context.element(0), 2);
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const std::int64_t given = context.get_int("axis");
  if (given < -rank || given > rank) throw Error("axis {} is outside [{}, {}]", given, -rank, rank);
  const std::size_t axis = given < 0 ? given + rank : given;
  context.set_output(0, context.element(0),
                     {known_count(dims, 0, axis), known_count(dims, axis, dims.size())});
}

void squeeze_ones(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  if (std::find(dims.begin(), dims.end(), kUnknown) != dims.end()) {
    return context.set_output_element(0, context.element(0));
  }
  std::erase(dims, 1);
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_squeeze(InferContext& context) {
  if (!context.has_input(1)) return squeeze_ones(context);
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const auto given = known_list(context, 1);
  if (!given) {
    const auto length = list_length(context, 1);
    if (length && *length > rank) throw Error("{} axes found, at most {} needed", *length, rank);
    return set_output_rank(context, 0, context.element(0),
                           length ? std::optional(rank - *length) : std::nullopt);
  }
  const Dims axes = distinct_axes(*given, rank);
  Dims kept;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const std::int64_t dim = dims[axis];
    if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
      kept.push_back(dim);
    } else if (dim != 1 && dim != kUnknown) {
      throw Error("axis {} of {} is {}, 1 needed", axis, to_string(dims), dim);
    }
  }
  context.set_output(0, context.element(0), std::move(kept));
}

void infer_unsqueeze(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  const auto given = known_list(context, 1);
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  if (!given) {
    const auto length = list_length(context, 1);
    return set_output_rank(context, 0, context.element(0),
                           length ? std::optional(rank + *length) : std::nullopt);
  }
  const std::int64_t new_rank = rank + std::ssize(*given);
  const Dims axes = distinct_axes(*given, new_rank);
  Dims result;
  auto next = dims.begin();
  for (std::int64_t axis = 0; axis < new_rank; ++axis) {
    const bool is_new = std::find(axes.begin(), axes.end(), axis) != axes.end();
    result.push_back(is_new ? 1 : *next++);
  }
  context.set_output(0, context.element(0), std::move(result));
}

void infer_expand(InferContext& context) {
  const auto shape = known_list(context, 1);
  const auto length = list_length(context, 1);
  if (!context.has_rank(0) || !length) return context.set_output_element(0, context.element(0));
  if (!shape) set_output_rank(context, 0, context.element(0), *length);  // refuses a rank that no tensor has
  const Dims wanted = shape ? *shape : Dims(*length, kUnknown);
  for (std::size_t i = 0; shape && i < wanted.size(); ++i) {
    if (wanted[i] < 0) throw Error("dimension {} of the wanted shape is {}", i, wanted[i]);
  }
  context.set_output(0, context.element(0), broadcast(context.dims(0), wanted));
}

void infer_tile(InferContext& context) {
  if (!context.has_rank(0)) {
    return set_output_rank(context, 0, context.element(0), list_length(context, 1));
  }
  const Dims& dims = context.dims(0);
  const auto repeats = known_list(context, 1);
  if (!repeats) {
    Dims unknown(dims.size(), kUnknown);
    return context.set_output(0, context.element(0), std::move(unknown));
  }
  if (repeats->size() != dims.size()) {
    throw Error("{} repeats found, {} needed for {}", repeats->size(), dims.size(), to_string(dims));
  }
  Dims result(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::int64_t repeat = (*repeats)[i];
    if (repeat < 0) throw Error("repeat {} of axis {} is negative", repeat, i);
    result[i] = known_count({dims[i], repeat});
  }
  context.set_output(0, context.element(0), std::move(result));
}

void infer_concat(InferContext& context) {
  std::optional<Dims> dims;
  std::int64_t axis = 0;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!context.has_rank(i)) {
      total = kUnknown;
      continue;
    }
    Dims part = context.dims(i);
    axis = normalized_axis(context.get_int("axis"), std::ssize(part));
    std::int64_t& along = part[axis];
    total = plus(total, along);
    along = kUnknown;
    dims = dims ? merged(*dims, part, fmt::format("all but axis {} must agree", axis)) : std::move(part);
  }
  if (!dims) return context.set_output_element(0, context.element(0));
  (*dims)[axis] = total;
  context.set_output(0, context.element(0), std::move(*dims));
}

// What reads the attribute, a gradient or a cost, takes its entries for indices.
void check_permutation(const IntList& perm) {
  IntList sorted = perm;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<std::int64_t>(i))
      throw Error("perm is {}, each axis from 0 to {} once needed", to_string(perm), perm.size() - 1);
  }
}

void infer_transpose(InferContext& context) {
  const IntList* given = context.get_if<IntList>("perm");
  if (given != nullptr) check_permutation(*given);
  if (!context.has_rank(0)) {
    const auto rank = given == nullptr ? std::nullopt : std::optional(std::ssize(*given));
    return set_output_rank(context, 0, context.element(0), rank);
  }
  const Dims& dims = context.dims(0);
  Dims result(dims.rbegin(), dims.rend());
  if (given != nullptr) {
    if (given->size() != dims.size()) {
      throw Error("perm has {} axes, {} needed for {}", given->size(), dims.size(), to_string(dims));
    }
    for (std::size_t i = 0; i < dims.size(); ++i) result[i] = dims[(*given)[i]];
  }
  context.set_output(0, context.element(0), std::move(result));
}

bool reshape_samples(const SampledOp& op) {
  return op.outputs[0] == axis_after_reshape(op.typed.input(0).dims, op.inputs[0], op.typed.output(0).dims);
}

OpSpec shape_question(std::string_view name, std::string_view output, InferFunction infer) {
  return {.name = name,
          .since = 25,
          .inputs = {{"data"}},
          .outputs = {{output, 'I'}},
          .types = {{'T', kAnyType}, {'I', kInt64}},
          .infer = infer,
          .work = no_work,
          .no_samples = kOfWholeBatch,
          .no_gradient = "its result does not depend on the elements"};
}

// A view with, perhaps, a second input of type 'I' that is a list.
OpSpec view_op(std::string_view name, std::vector<Parameter> inputs, std::string_view output,
               InferFunction infer) {
  return {.name = name,
          .since = 25,
          .inputs = std::move(inputs),
          .outputs = {{output}},
          .types = {{'T', kAnyType}, {'I', kInt64}},
          .infer = infer,
          .work = no_work,
          .view = true,
          .hands_on = keeps_first_shape,
          .samples = reshape_samples,
          .total = total_of_first};
}

OpSpec shape_row() {
  OpSpec row = shape_question("Shape", "shape", infer_shape);
  row.attributes = {with_default("start", std::int64_t{0}), may_have("end", AttributeKind::Int)};
  return row;
}

OpSpec reshape_row() {
  OpSpec row = view_op("Reshape", {{"data"}, {"shape", 'I'}}, "reshaped", infer_reshape);
  row.attributes = {with_default("allowzero", std::int64_t{0})};
  return row;
}

OpSpec flatten_row() {
  OpSpec row = view_op("Flatten", {{"input"}}, "output", infer_flatten);
  row.attributes = {with_default("axis", std::int64_t{1})};
  return row;
}

OpSpec identity_row() {
  OpSpec row = view_op("Identity", {{"input"}}, "output", same_as_input);
  row.types = {{'T', kAnyType, true}};
  row.elementwise = true;
  row.hands_on = [](const TypedOp&) { return true; };
  row.samples = nullptr;
  return row;
}

OpSpec moving_op(std::string_view name, int since, std::vector<Parameter> inputs, std::string_view output,
                 InferFunction infer) {
  return {.name = name,
          .since = since,
          .inputs = std::move(inputs),
          .outputs = {{output}},
          .types = {{'T', kAnyType}, {'I', kInt64}},
          .infer = infer,
          .work = work_of_moving};
}

OpSpec expand_row() {
  OpSpec row = moving_op("Expand", 13, {{"input"}, {"shape", 'I'}}, "output", infer_expand);
  row.gained = 8;
  row.elementwise = true;
  row.hands_on = keeps_first_shape;
  return row;
}

OpSpec tile_row() {
  OpSpec row = moving_op("Tile", 13, {{"input"}, {"repeats", 'I'}}, "output", infer_tile);
  row.hands_on = keeps_first_shape;
  row.samples = keeps_whole_axis;
  return row;
}

OpSpec concat_row() {
  OpSpec row = moving_op("Concat", 13, {{"inputs", 'T', Formal::Variadic}}, "concat_result", infer_concat);
  row.attributes = {must_have("axis", AttributeKind::Int)};
  row.hands_on = has_one_input;
  row.samples = along_attribute;
  return row;
}

bool keeps_order(const TypedOp& op) {
  if (!op.input(0).has_rank) return false;
  const IntList* perm = op.get_if<IntList>("perm");
  return perm == nullptr ? op.input(0).rank() < 2 : std::is_sorted(perm->begin(), perm->end());
}

OpSpec transpose_row() {
  OpSpec row = moving_op("Transpose", 25, {{"data"}}, "transposed", infer_transpose);
  row.attributes = {may_have("perm", AttributeKind::Ints)};
  row.hands_on = keeps_order;
  row.samples = one_input;
  row.total = total_of_first;
  return row;
}

}  // namespace

std::span<const OpSpec> shape_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain},
             {
                 shape_row(),
                 shape_question("Size", "size", infer_size),
                 reshape_row(),
                 flatten_row(),
                 view_op("Squeeze", {{"data"}, {"axes", 'I', Formal::Optional}}, "squeezed", infer_squeeze),
                 view_op("Unsqueeze", {{"data"}, {"axes", 'I'}}, "expanded", infer_unsqueeze),
                 identity_row(),
                 expand_row(),
                 tile_row(),
                 concat_row(),
                 transpose_row(),
             });
  return kRows;
}

}  // namespace podium::ir
