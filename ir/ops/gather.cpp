// Ops that read or write elements at given indices.
// Infer checks shapes against each other, as far as they are known: indices by element have the rank of the
// data and lie inside it; indices by row have an index in their last dimension, which must not be longer than
// the rank of the data; scatters give the shape of the data. Values of indices are the kernels' to check.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {
namespace {

constexpr double kMostDepth = 1e12;

std::int64_t rank_of(const InferContext& context, std::size_t i) { return std::ssize(context.dims(i)); }

void infer_gather(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(0));
  Dims dims = context.dims(0);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), rank_of(context, 0));
  if (!context.has_rank(1)) return context.set_output_element(0, context.element(0));
  const Dims& indices = context.dims(1);
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, indices.begin(), indices.end());
  context.set_output(0, context.element(0), std::move(dims));
}

// Indices of one element each have data's rank and, but for the axis, lie inside it.
void check_elementwise(const InferContext& context) {
  if (!context.has_rank(0)) return;
  const Dims& data = context.dims(0);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), rank_of(context, 0));
  if (!context.has_rank(1)) return;
  const Dims& indices = context.dims(1);
  if (indices.size() != data.size()) {
    throw Error("indices {} found, the rank of data {} needed", to_string(indices), to_string(data));
  }
  for (std::int64_t i = 0; i < std::ssize(data); ++i) {
    if (i == axis || data[i] == kUnknown || indices[i] <= data[i]) continue;
    throw Error("indices {} reach outside data {} on axis {}", to_string(indices), to_string(data), i);
  }
}

void infer_gather_elements(InferContext& context) {
  check_elementwise(context);
  context.set_output(
      0, Type{.element = context.element(0), .has_rank = context.has_rank(1), .dims = context.input(1).dims});
}

// The last dimension of indices, the length of one index; kUnknown when not known.
std::int64_t index_length(const InferContext& context, std::int64_t batch_dims) {
  const Dims& indices = context.dims(1);
  if (indices.empty()) throw Error("indices are a scalar, rank 1 or more needed");
  if (batch_dims < 0 || batch_dims >= rank_of(context, 1)) {
    throw Error("batch_dims is {}, less than the rank of indices {} needed", batch_dims, to_string(indices));
  }
  const std::int64_t length = indices.back();
  if (length != kUnknown && context.has_rank(0) && length > rank_of(context, 0) - batch_dims) {
    throw Error("an index of {} numbers does not fit data {}", length, to_string(context.dims(0)));
  }
  return length;
}

void infer_gather_nd(InferContext& context) {
  const std::int64_t batch_dims = context.get_int("batch_dims");
  if (!context.has_rank(0) || !context.has_rank(1)) return context.set_output_element(0, context.element(0));
  const std::int64_t length = index_length(context, batch_dims);
  if (length == kUnknown) return context.set_output_element(0, context.element(0));
  const Dims& data = context.dims(0);
  const Dims& indices = context.dims(1);
  const Dims data_batch(data.begin(), data.begin() + batch_dims);
  Dims dims =
      merged(data_batch, Dims(indices.begin(), indices.begin() + batch_dims), "batch of data and indices");
  dims.insert(dims.end(), indices.begin() + batch_dims, indices.end() - 1);
  dims.insert(dims.end(), data.begin() + batch_dims + length, data.end());
  context.set_output(0, context.element(0), std::move(dims));
}

void check_reduction(const InferContext& context) {
  const std::string& reduction = context.get_string("reduction");
  for (std::string_view known : {"none", "add", "mul", "min", "max"}) {
    if (reduction == known) return;
  }
  throw Error("reduction is '{}', none, add, mul, min or max needed", reduction);
}

void infer_scatter_elements(InferContext& context) {
  check_reduction(context);
  check_elementwise(context);
  if (context.has_rank(1) && context.has_rank(2))
    merged(context.dims(1), context.dims(2), "indices and updates");
  context.set_output(0, context.input(0));
}

void infer_scatter_nd(InferContext& context) {
  check_reduction(context);
  context.set_output(0, context.input(0));
  if (!context.has_rank(0) || !context.has_rank(1)) return;
  const std::int64_t length = index_length(context, 0);
  if (length == kUnknown || !context.has_rank(2)) return;
  const Dims& data = context.dims(0);
  Dims wanted(context.dims(1).begin(), context.dims(1).end() - 1);
  wanted.insert(wanted.end(), data.begin() + length, data.end());
  merged(wanted, context.dims(2), "updates");
}

void infer_tensor_scatter(InferContext& context) {
  const std::string& mode = context.get_string("mode");
  if (mode != "linear" && mode != "circular") throw Error("mode is '{}', linear or circular needed", mode);
  context.set_output(0, context.input(0));
  if (!context.has_rank(0) || !context.has_rank(1)) return;
  Dims cache = context.dims(0);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), rank_of(context, 0));
  if (axis == 0) throw Error("axis is 0, that of the batch; another needed");
  const std::int64_t longest = cache[axis];
  cache[axis] = kUnknown;
  merged(cache, context.dims(1), "past_cache and update");
  const std::int64_t length = context.dims(1)[axis];
  if (longest != kUnknown && length > longest) {
    throw Error("update is {} long on axis {}, the cache {}", length, axis, longest);
  }
  if (context.has_input(2) && context.has_rank(2))
    merged({cache[0]}, context.dims(2), "write_indices and the batch");
}

void infer_compress(InferContext& context) {
  const auto* axis = context.get_if<std::int64_t>("axis");
  const Tensor* condition = context.constant(1);
  if (context.has_rank(1) && context.dims(1).size() != 1) {
    throw Error("condition is {}, rank 1 needed", to_string(context.input(1)));
  }
  if (!context.has_rank(0)) {
    return set_output_rank(context, 0, context.element(0),
                           axis == nullptr ? std::optional<std::int64_t>(1) : std::nullopt);
  }
  Dims dims = context.dims(0);
  const std::int64_t along = axis == nullptr ? 0 : normalized_axis(*axis, rank_of(context, 0));
  if (axis == nullptr) dims = {known_count(dims)};
  std::int64_t& dim = dims[along];
  if (condition != nullptr) {
    const auto chosen = condition->values<bool>();
    const auto last = std::find(chosen.rbegin(), chosen.rend(), true);
    if (dim != kUnknown && chosen.rend() - last > dim) {
      throw Error("condition chooses element {} of {}", chosen.rend() - last - 1, dim);
    }
    dim = std::count(chosen.begin(), chosen.end(), true);
  } else {
    dim = kUnknown;
  }
  context.set_output(0, context.element(0), std::move(dims));
}

void infer_one_hot(InferContext& context) {
  if (context.has_rank(1) && known_count(context.dims(1)) > 1) {
    throw Error("depth is {}, one number needed", to_string(context.input(1)));
  }
  if (context.has_rank(2)) merged(context.dims(2), {2}, "values");
  const Tensor* depth = context.constant(1);
  // A number beyond all integers cannot become one.
  const double number = depth == nullptr ? 0 : depth->to_number();
  if (!(number >= 0 && number < kMostDepth)) throw Error("depth is {}, 0 to {} needed", number, kMostDepth);
  const std::int64_t wide = depth == nullptr ? kUnknown : static_cast<std::int64_t>(number);
  if (!context.has_rank(0)) return context.set_output_element(0, context.element(2));
  Dims dims = context.dims(0);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), rank_of(context, 0) + 1);
  dims.insert(dims.begin() + axis, wide);
  context.set_output(0, context.element(2), std::move(dims));
}

void infer_reverse_sequence(InferContext& context) {
  const std::int64_t batch = context.get_int("batch_axis");
  const std::int64_t time = context.get_int("time_axis");
  const bool fits = (batch == 0 && time == 1) || (batch == 1 && time == 0);
  if (!fits) {
    throw Error("batch_axis is {} and time_axis {}, 0 and 1 or 1 and 0 needed", batch, time);
  }
  if (context.has_rank(0)) {
    if (context.dims(0).size() < 2)
      throw Error("input is {}, rank 2 or more needed", to_string(context.input(0)));
    if (context.has_rank(1)) merged({context.dims(0)[batch]}, context.dims(1), "sequence_lens and the batch");
  }
  context.set_output(0, context.input(0));
}

const std::vector<TypeConstraint> kDataAndIndices{{'T', kAnyType}, {'I', kIndices}};

// Every input is indexed by the place of the sample.
bool elements_along_attribute(const SampledOp& op) {
  const bool all_sampled =
      std::none_of(op.inputs.begin(), op.inputs.end(), [](int axis) { return axis == kNoAxis; });
  return all_sampled && along_attribute(op);
}

// Takes along one axis of one table for all samples, or along another axis than theirs of their own.
bool gather_samples(const SampledOp& op) {
  if (op.has(0) && op.has(1)) return false;
  return op.has(1) || op.inputs[0] != axis_attribute(op, op.typed.input(0).rank());
}

// What each sample takes comes from one table for all.
bool only_indices(const SampledOp& op) {
  return !op.has(0) && op.has(1) && op.typed.get_int("batch_dims") == 0;
}

OpSpec scatter_row(std::string_view name, InferFunction infer) {
  return {.name = name,
          .since = 18,
          .gained = 11,
          .inputs = {{"data"}, {"indices", 'I'}, {"updates"}},
          .outputs = {{"output"}},
          .types = kDataAndIndices,
          .attributes = {with_default("reduction", std::string("none"))},
          .infer = infer,
          .work = work_of_moving,
          .in_place = kFirstInput};
}

OpSpec scatter_elements_row() {
  OpSpec row = with_samples(elements_along_attribute, scatter_row("ScatterElements", infer_scatter_elements));
  row.attributes.push_back(with_default("axis", std::int64_t{0}));
  return row;
}

OpSpec gather_row(std::string_view name, std::string_view attribute, InferFunction infer,
                  SampleRule samples) {
  return {.name = name,
          .since = 13,
          .inputs = {{"data"}, {"indices", 'I'}},
          .outputs = {{"output"}},
          .types = kDataAndIndices,
          .attributes = {with_default(attribute, std::int64_t{0})},
          .infer = infer,
          .work = work_of_picking,
          .samples = samples};
}

OpSpec tensor_scatter_row() {
  return {.name = "TensorScatter",
          .since = 24,
          .gained = 24,
          .inputs = {{"past_cache"}, {"update"}, {"write_indices", 'I', Formal::Optional}},
          .outputs = {{"present_cache"}},
          .types = {{'T', kAnyType}, {'I', kInt64}},
          .attributes = {with_default("axis", std::int64_t{-2}), with_default("mode", std::string("linear"))},
          .infer = infer_tensor_scatter,
          .work = work_of_moving,
          .in_place = kFirstInput};
}

OpSpec compress_row() {
  return {.name = "Compress",
          .since = 11,
          .gained = 9,
          .inputs = {{"input"}, {"condition", 'B'}},
          .outputs = {{"output"}},
          .types = {{'T', kAnyType}, {'B', kBool}},
          .attributes = {may_have("axis", AttributeKind::Int)},
          .infer = infer_compress,
          .work = work_of_moving,
          .no_samples = kOfWholeBatch};
}

OpSpec one_hot_row() {
  return {.name = "OneHot",
          .since = 11,
          .gained = 9,
          .inputs = {{"indices", 'I'}, {"depth", 'D'}, {"values"}},
          .outputs = {{"output"}},
          .types = {{'T', kAnyType}, {'I', kNumeric}, {'D', kNumeric}},
          .attributes = {with_default("axis", std::int64_t{-1})},
          .infer = infer_one_hot,
          .work = work_of_moving,
          .samples = one_input};
}

OpSpec reverse_sequence_row() {
  return {
      .name = "ReverseSequence",
      .since = 10,
      .gained = 10,
      .inputs = {{"input"}, {"sequence_lens", 'I'}},
      .outputs = {{"Y"}},
      .types = {{'T', kAnyType}, {'I', kInt64}},
      .attributes = {with_default("batch_axis", std::int64_t{1}), with_default("time_axis", std::int64_t{0})},
      .infer = infer_reverse_sequence,
      .work = work_of_moving};
}

}  // namespace

std::span<const OpSpec> gather_ops() {
  static const std::vector<OpSpec> kRows = family(
      {.category = Category::Plain, .no_samples = kNotWorkedOut},
      {
          gather_row("Gather", "axis", infer_gather, gather_samples),
          gained(11, gather_row("GatherElements", "axis", infer_gather_elements, elements_along_attribute)),
          gained(11, gather_row("GatherND", "batch_dims", infer_gather_nd, only_indices)),
          scatter_elements_row(),
          scatter_row("ScatterND", infer_scatter_nd),
          tensor_scatter_row(),
          compress_row(),
          one_hot_row(),
          reverse_sequence_row(),
      });
  return kRows;
}

}  // namespace podium::ir
