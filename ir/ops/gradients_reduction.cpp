#include <algorithm>
#include <numeric>

#include "ir/ops/gradient_terms.h"
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

// The one axis of CumSum or CumProd.
std::int64_t cumulated_axis(GradientContext& context) {
  const std::optional<Tensor>& known = context.builder.graph()[context.input(1)].constant;
  if (!known) throw Error("the gradient needs an axis that is known before the run");
  return normalized_axis(known->to_ints()[0], context.rank(context.input(0)));
}

// A value of the output's shape with the axes that were taken away back as ones.
Term kept(GradientContext& context, const Dims& axes, ValueId value) {
  const bool is_kept = attribute<std::int64_t>(context.op, "keepdims") != 0;
  return term(context, is_kept ? value : context.call("Unsqueeze", {value, context.ints(axes)}));
}

// What flows, stretched over the axes that were taken away.
ValueId spread(GradientContext& context, const Dims& axes) {
  const Term flow = kept(context, axes, context.output_gradient());
  return context.call("Expand", {flow, context.shape_of(context.input(0))});
}

// Per element along the last axis, the product of all others: also where one of them is 0.
Term product_of_others(Term x) {
  GradientContext& context = *x.context;
  const ValueId last = context.builder.constant(Tensor::scalar<std::int64_t>(-1));
  const Term before = x.with("CumProd", last, {{"exclusive", std::int64_t{1}}});
  const Term after = x.with("CumProd", last, {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}});
  return before * after;
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

// Elements that share the extreme share what flows into it.
void reduce_extreme_gradient(GradientContext& context) {
  const Dims axes = reduced_axes(context);
  const Term x = term(context, context.input(0));
  const Term gave = x.with("Equal", kept(context, axes, context.output()));
  const Term ones = choose(gave, x.like(1), 0);
  const Term count = ones.with("ReduceSum", context.ints(axes), {{"noop_with_empty_axes", std::int64_t{1}}});
  context.set(0, ones * (kept(context, axes, context.output_gradient()) / count));
}

void reduce_prod_gradient(GradientContext& context) {
  const Dims axes = reduced_axes(context);
  const Dims dims = context.static_dims(context.input(0));
  IntList order;
  Dims rows;
  for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(dims.size()); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    order.push_back(axis);
    rows.push_back(dims[static_cast<std::size_t>(axis)]);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  Dims moved;
  IntList back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    moved.push_back(dims[static_cast<std::size_t>(order[i])]);
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  rows.push_back(-1);
  const Term last = term(context, context.input(0)).call("Transpose", {{"perm", order}}).with("Reshape", context.ints(rows));
  const Term others = product_of_others(last).with("Reshape", context.ints(moved)).call("Transpose", {{"perm", back}});
  context.set(0, others * kept(context, axes, context.output_gradient()));
}

void reduce_l1_gradient(GradientContext& context) {
  const Term flow = kept(context, reduced_axes(context), context.output_gradient());
  context.set(0, flow * term(context, context.input(0)).call("Sign"));
}

// 0 where the norm is 0, which has no slope there.
void reduce_l2_gradient(GradientContext& context) {
  const Dims axes = reduced_axes(context);
  const Term norm = kept(context, axes, context.output());
  const Term is_there = norm > 0;
  const Term share = kept(context, axes, context.output_gradient()) / choose(is_there, norm, 1);
  context.set(0, term(context, context.input(0)) * choose(is_there, share, 0));
}

void reduce_log_sum_gradient(GradientContext& context) {
  const Dims axes = reduced_axes(context);
  const Term share = kept(context, axes, context.output_gradient()) / kept(context, axes, context.output()).call("Exp");
  context.set(0, context.call("Expand", {share, context.shape_of(context.input(0))}));
}

void reduce_log_sum_exp_gradient(GradientContext& context) {
  const Dims axes = reduced_axes(context);
  const Term shares = (term(context, context.input(0)) - kept(context, axes, context.output())).call("Exp");
  context.set(0, shares * kept(context, axes, context.output_gradient()));
}

void reduce_sum_square_gradient(GradientContext& context) {
  const Term flow = kept(context, reduced_axes(context), context.output_gradient());
  context.set(0, term(context, context.input(0)) * flow * 2);
}

void cum_sum_gradient(GradientContext& context) {
  const std::int64_t back = attribute<std::int64_t>(context.op, "reverse") == 0 ? 1 : 0;
  const std::int64_t exclusive = attribute<std::int64_t>(context.op, "exclusive");
  context.set(0, flow_of(context).with("CumSum", context.input(1), {{"exclusive", exclusive}, {"reverse", back}}));
}

// The sum over every output of its product without one factor: also where factors are 0. Factors lie along the
// last axis, outputs along a new one behind it.
void cum_prod_gradient(GradientContext& context) {
  const std::int64_t axis = cumulated_axis(context);
  const Dims dims = context.static_dims(context.input(0));
  const std::int64_t count = dims[static_cast<std::size_t>(axis)];
  const std::int64_t reverse = attribute<std::int64_t>(context.op, "reverse");
  const std::int64_t exclusive = attribute<std::int64_t>(context.op, "exclusive");
  IntList order(dims.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[static_cast<std::size_t>(axis)], order.back());
  const auto last = [&](Term value, std::int64_t where) {
    return value.call("Transpose", {{"perm", order}}).with("Unsqueeze", context.ints({where}));
  };
  Tensor own(DataType::Bool, {count, count});
  Tensor counts(DataType::Bool, {count, count});
  for (std::int64_t factor = 0; factor < count; ++factor) {
    for (std::int64_t output = 0; output < count; ++output) {
      const std::int64_t distance = reverse != 0 ? factor - output : output - factor;
      own.data<bool>()[factor * count + output] = factor == output;
      counts.data<bool>()[factor * count + output] = distance >= exclusive;
    }
  }
  const Term factors = last(term(context, context.input(0)), -2);
  const Term others = choose(term(context, context.builder.constant(own)), factors.like(1), factors);
  const ValueId along = context.builder.constant(Tensor::scalar<std::int64_t>(-1));
  const Term products = others.with("CumProd", along, {{"exclusive", exclusive}, {"reverse", reverse}});
  const Term shares = choose(term(context, context.builder.constant(counts)), products * last(flow_of(context), -2), 0);
  const Term sums = shares.with("ReduceSum", context.ints({-1}), {{"keepdims", std::int64_t{0}}});
  context.set(0, sums.call("Transpose", {{"perm", order}}));
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
