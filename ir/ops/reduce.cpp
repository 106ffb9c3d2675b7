#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/totals.h"

namespace podium::ir {
namespace {

constexpr TypeSet kWide =
    kFloats | TypeSet{DataType::Int32, DataType::Int64, DataType::Uint32, DataType::Uint64};
constexpr TypeSet kComparable = kWide | kBool | TypeSet{DataType::Int8, DataType::Uint8};

// Without axes known, all that can be said is the rank, and that only when axes are kept.
void infer_unknown_axes(InferContext& context) {
  if (!context.has_rank(0) || context.get_int("keepdims") == 0) {
    return context.set_output_element(0, context.element(0));
  }
  context.set_output(0, context.element(0), Dims(context.dims(0).size(), kUnknown));
}

void infer_reduce(InferContext& context) {
  if (!context.has_rank(0)) return infer_unknown_axes(context);
  const Dims& dims = context.dims(0);
  const auto rank = std::ssize(dims);
  const std::optional<Dims> axes = known_axes(context, 1, rank);
  if (!axes) return infer_unknown_axes(context);
  const bool reduces_all = axes->empty() && context.get_int("noop_with_empty_axes") == 0;
  Dims output;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    const auto times = std::count(axes->begin(), axes->end(), axis);
    if (times > 1) throw Error("axis {} is given twice", axis);
    if (times == 0 && !reduces_all) {
      output.push_back(dims[axis]);
    } else if (context.get_int("keepdims") != 0) {
      output.push_back(1);
    }
  }
  context.set_output(0, context.element(0), std::move(output));
}

void infer_arg(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output_element(0, DataType::Int64);
  Dims dims = context.dims(0);
  const auto rank = std::ssize(dims);
  // A scalar has the one index 0, whichever of the axes 0 and -1 is named.
  const std::int64_t axis = normalized_axis(context.get_int("axis"), std::max<std::int64_t>(rank, 1));
  if (rank > 0 && context.get_int("keepdims") != 0) {
    dims[axis] = 1;
  } else if (rank > 0) {
    dims.erase(dims.begin() + axis);
  }
  context.set_output(0, DataType::Int64, std::move(dims));
}

void infer_cumulative(InferContext& context) {
  const Tensor* axis = context.constant(1);
  const std::int64_t axis_count = context.input(1).element_count();
  if (axis_count != kUnknown && axis_count != 1) throw Error("axis has {} elements, 1 needed", axis_count);
  if (context.has_rank(0) && axis != nullptr) {
    normalized_axis(axis->to_ints()[0], context.input(0).rank());
  }
  context.set_output(0, context.input(0));
}

// A few operations for each element read.
template <int kPerElement>
Work work_per_input(const TypedOp& op) {
  const std::int64_t count = op.input(0).element_count();
  return {.flop = count < 0 ? 0 : static_cast<double>(count) * kPerElement, .bytes = io_bytes(op)};
}

OpSpec reduction(std::string_view name, int since, TypeSet types, WorkFunction work) {
  return {.name = name,
          .since = since,
          .inputs = {{"data"}, {"axes", 'I', Formal::Optional}},
          .outputs = {{"reduced"}},
          .types = {{'T', types}, {'I', kInt64}},
          .attributes = {with_default("keepdims", std::int64_t{1}),
                         with_default("noop_with_empty_axes", std::int64_t{0})},
          .infer = infer_reduce,
          .work = work};
}

OpSpec arg_reduction(std::string_view name) {
  return {.name = name,
          .since = 13,
          .inputs = {{"data"}},
          .outputs = {{"reduced", 'I'}},
          .types = {{'T', kNumeric}, {'I', kInt64}},
          .attributes = {with_default("axis", std::int64_t{0}), with_default("keepdims", std::int64_t{1}),
                         with_default("select_last_index", std::int64_t{0})},
          .infer = infer_arg,
          .work = work_per_input<1>,
          .no_gradient = "its output is not a floating point number"};
}

// Works along the axis given as a constant.
bool along_input(const SampledOp& op) {
  const Tensor* axis = op.typed.constant(1);
  return axis != nullptr && !op.has(1) &&
         normalized_axis(axis->to_ints().front(), op.typed.input(0).rank()) != op.inputs[0];
}

OpSpec cumulation(std::string_view name, int since) {
  return {
      .name = name,
      .since = since,
      .inputs = {{"x"}, {"axis", 'I'}},
      .outputs = {{"y"}},
      .types = {{'T', kWide}, {'I', kIndices}},
      .attributes = {with_default("exclusive", std::int64_t{0}), with_default("reverse", std::int64_t{0})},
      .infer = infer_cumulative,
      .work = work_per_input<1>,
      .samples = along_input};
}

}  // namespace

std::span<const OpSpec> reduce_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .samples = one_input},
             {
                 with_total(sum_over_samples, reduction("ReduceSum", 13, kWide, work_per_input<1>)),
                 with_total(mean_over_samples, reduction("ReduceMean", 18, kWide, work_per_input<1>)),
                 reduction("ReduceMax", 20, kComparable, work_per_input<1>),
                 reduction("ReduceMin", 20, kComparable, work_per_input<1>),
                 reduction("ReduceProd", 18, kWide, work_per_input<1>),
                 with_total(sum_of_sizes, reduction("ReduceL1", 18, kWide, work_per_input<2>)),
                 reduction("ReduceL2", 18, kWide, work_per_input<2>),
                 reduction("ReduceLogSum", 18, kWide, work_per_input<1>),
                 reduction("ReduceLogSumExp", 18, kWide, work_per_input<4>),
                 with_total(sum_of_sizes, reduction("ReduceSumSquare", 18, kWide, work_per_input<2>)),
                 arg_reduction("ArgMax"),
                 arg_reduction("ArgMin"),
                 gained(11, cumulation("CumSum", 14)),
                 gained(26, cumulation("CumProd", 26)),
             });
  return kRows;
}

}  // namespace podium::ir
