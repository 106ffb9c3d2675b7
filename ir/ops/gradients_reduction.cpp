#include <algorithm>
#include <numeric>

#include "ir/ops/gradients.h"

namespace podium::ir {
namespace {

// The axes a reduction takes away, as numbers from 0.
Dims reduced_axes(GradientContext& context) {
  const std::int64_t rank = context.rank(context.input(0));
  Dims axes;
  if (context.has_input(1)) {
    const std::optional<Tensor>& known = context.builder.graph()[context.input(1)].constant;
    if (!known) throw Error("the gradient needs axes that are known before the run");
    axes = known->to_ints();
  }
  if (axes.empty() && attribute<std::int64_t>(context.op, "noop_with_empty_axes") == 0) {
    axes.resize(static_cast<std::size_t>(rank));
    std::iota(axes.begin(), axes.end(), std::int64_t{0});
  }
  for (std::int64_t& axis : axes) axis = normalized_axis(axis, rank);
  std::sort(axes.begin(), axes.end());
  return axes;
}

// What flows, stretched over the axes that were taken away.
ValueId spread(GradientContext& context, const Dims& axes) {
  ValueId flow = context.output_gradient();
  if (attribute<std::int64_t>(context.op, "keepdims") == 0) flow = context.call("Unsqueeze", {flow, context.ints(axes)});
  return context.call("Expand", {flow, context.shape_of(context.input(0))});
}

ValueId transposed(GradientContext& context, ValueId matrices) {
  IntList order(static_cast<std::size_t>(context.rank(matrices)));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return context.call("Transpose", {matrices}, {{"perm", order}});
}

ValueId gemm(GradientContext& context, ValueId a, ValueId b, bool transpose_a, bool transpose_b) {
  return context.call("Gemm", {a, b},
                      {{"alpha", attribute<float>(context.op, "alpha")},
                       {"transA", std::int64_t{transpose_a}},
                       {"transB", std::int64_t{transpose_b}}});
}

// Of a sum over the axis of a softmax.
ValueId sum_over_axis(GradientContext& context, ValueId value) {
  return context.call("ReduceSum", {value, context.ints({attribute<std::int64_t>(context.op, "axis")})});
}

}  // namespace

void reduce_sum_gradient(GradientContext& context) { context.set(0, spread(context, reduced_axes(context))); }

void reduce_mean_gradient(GradientContext& context) {
  const Dims axes = reduced_axes(context);
  const Dims dims = context.static_dims(context.input(0));
  double count = 1;
  for (std::int64_t axis : axes) count *= static_cast<double>(dims[static_cast<std::size_t>(axis)]);
  context.set(0, context.call("Div", {spread(context, axes), context.number(count, context.input(0))}));
}

void matmul_gradient(GradientContext& context) {
  const ValueId a = context.input(0);
  const ValueId b = context.input(1);
  const bool a_is_row = context.rank(a) == 1;
  const bool b_is_column = context.rank(b) == 1;
  // Vectors become matrices, so that one rule serves all.
  const ValueId left = a_is_row ? context.call("Unsqueeze", {a, context.ints({0})}) : a;
  const ValueId right = b_is_column ? context.call("Unsqueeze", {b, context.ints({1})}) : b;
  ValueId flow = context.output_gradient();
  if (b_is_column) flow = context.call("Unsqueeze", {flow, context.ints({-1})});
  if (a_is_row) flow = context.call("Unsqueeze", {flow, context.ints({-2})});
  if (context.wants(0)) {
    const ValueId product = context.call("MatMul", {flow, transposed(context, right)});
    context.set(0, context.reshape_like(context.sum_to_shape_of(product, left), a));
  }
  if (context.wants(1)) {
    const ValueId product = context.call("MatMul", {transposed(context, left), flow});
    context.set(1, context.reshape_like(context.sum_to_shape_of(product, right), b));
  }
}

void gemm_gradient(GradientContext& context) {
  const bool transpose_a = attribute<std::int64_t>(context.op, "transA") != 0;
  const bool transpose_b = attribute<std::int64_t>(context.op, "transB") != 0;
  const ValueId flow = context.output_gradient();
  if (context.wants(0)) {
    context.set(0, transpose_a ? gemm(context, context.input(1), flow, transpose_b, true)
                               : gemm(context, flow, context.input(1), false, !transpose_b));
  }
  if (context.wants(1)) {
    context.set(1, transpose_b ? gemm(context, flow, context.input(0), true, transpose_a)
                               : gemm(context, context.input(0), flow, !transpose_a, false));
  }
  if (context.wants(2)) {
    const ValueId scaled = context.call("Mul", {flow, context.number(attribute<float>(context.op, "beta"), flow)});
    context.set(2, context.sum_to_shape_of(scaled, context.input(2)));
  }
}

void softmax_gradient(GradientContext& context) {
  const ValueId y = context.output();
  const ValueId flow = context.output_gradient();
  const ValueId average = sum_over_axis(context, context.call("Mul", {flow, y}));
  context.set(0, context.call("Mul", {y, context.call("Sub", {flow, average})}));
}

void log_softmax_gradient(GradientContext& context) {
  const ValueId flow = context.output_gradient();
  const ValueId shares = context.call("Exp", {context.output()});
  context.set(0, context.call("Sub", {flow, context.call("Mul", {shares, sum_over_axis(context, flow)})}));
}

}  // namespace podium::ir
