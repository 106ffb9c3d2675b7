// Reductions, cumulations, products of matrices, softmax.
// A Reduction knows the axes that were taken away, or keeps the input that names them at run time, and puts
// them back as ones, so that a flow stretches over the input. Products use the product of all other factors
// (of those before times those behind), which is right where a factor is 0. The gradient of a MatMul are two
// MatMuls, with vectors made matrices first, and one tall product instead of a sum where a batch meets one
// matrix.
#include <algorithm>
#include <numeric>
#include <optional>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

// The axes that a reduction removes: known ones, or the op's input that names them when it runs.
class Reduction {
 public:
  explicit Reduction(GradientContext& context) : context_(context), x_(term(context, context.input(0))) {
    const std::optional<Tensor> known =
        has_axes() ? context.builder.graph()[context.input(1)].constant : std::nullopt;
    if ((has_axes() && !known) || !context.type(x_).has_rank) return;
    axes_ = known ? known->to_ints() : Dims();
    const std::int64_t rank = context.rank(x_);
    if (axes_->empty() && attribute<std::int64_t>(context.op, "noop_with_empty_axes") == 0) {
      axes_->resize(rank);
      std::iota(axes_->begin(), axes_->end(), std::int64_t{0});
    }
    for (std::int64_t& axis : *axes_) axis = normalized_axis(axis, rank);
    std::sort(axes_->begin(), axes_->end());
  }

  const Dims& known_axes() const {
    if (!axes_) throw NeedsRun("the gradient needs to know the axes");
    return *axes_;
  }

  // A value of the output's shape with the axes that were taken away back as ones.
  Term kept(ValueId value) const {
    if (attribute<std::int64_t>(context_.op, "keepdims") != 0) return term(context_, value);
    if (axes_) return term(context_, context_.call("Unsqueeze", {value, context_.ints(*axes_)}));
    return term(context_, context_.reshape_like(value, sum(x_)));
  }
  Term flow() const { return kept(context_.output_gradient()); }
  Term output() const { return kept(context_.output()); }

  // Over the same axes, which stay as ones.
  Term sum(Term of) const {
    if (!axes_ && !has_axes()) return of.call("ReduceSum");
    const ValueId axes = axes_ ? context_.ints(*axes_) : context_.input(1);
    const std::int64_t none = axes_ ? 1 : attribute<std::int64_t>(context_.op, "noop_with_empty_axes");
    return of.with("ReduceSum", axes, {{"noop_with_empty_axes", none}});
  }

  // How many elements of the input are in one of the output.
  Term count() const {
    if (axes_ && context_.type(x_).is_static()) {
      double product = 1;
      for (std::int64_t axis : *axes_) product *= static_cast<double>(context_.static_dims(x_)[axis]);
      return x_.like(product);
    }
    return sum(term(context_, context_.filled_like(x_, 1)));
  }

  // A value with the axes kept, stretched over them.
  ValueId spread(Term value) const { return context_.call("Expand", {value, context_.shape_of(x_)}); }

  Term x() const { return x_; }

 private:
  bool has_axes() const { return context_.has_input(1); }

  GradientContext& context_;
  Term x_;
  std::optional<Dims> axes_ = {};
};

// The one axis of CumSum or CumProd.
std::int64_t cumulated_axis(GradientContext& context) {
  return normalized_axis(context.known(1).to_ints()[0], context.rank(context.input(0)));
}

// Per element along the last axis, the product of all others: also where one of them is 0.
Term product_of_others(Term x) {
  TermBuilder& context = *x.builder;
  const ValueId last = context.builder.constant(Tensor::scalar<std::int64_t>(-1));
  const Term before = x.with("CumProd", last, {{"exclusive", std::int64_t{1}}});
  const Term after = x.with("CumProd", last, {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}});
  return before * after;
}

ValueId transposed(GradientContext& context, ValueId matrices) {
  IntList order(context.rank(matrices));
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

// The sum over the axis of a softmax.
ValueId sum_over_axis(GradientContext& context, ValueId value) {
  return context.call("ReduceSum", {value, context.ints({attribute<std::int64_t>(context.op, "axis")})});
}

void reduce_sum_gradient(GradientContext& context) {
  const Reduction reduction(context);
  context.set(0, reduction.spread(reduction.flow()));
}

void reduce_mean_gradient(GradientContext& context) {
  const Reduction reduction(context);
  context.set(0, reduction.spread(reduction.flow() / reduction.count()));
}

// Elements that equal the extreme share its gradient.
void reduce_extreme_gradient(GradientContext& context) {
  const Reduction reduction(context);
  const Term ones = choose(reduction.x().with("Equal", reduction.output()), reduction.x().like(1), 0);
  context.set(0, ones * (reduction.flow() / reduction.sum(ones)));
}

void reduce_prod_gradient(GradientContext& context) {
  const std::vector<Attribute> as_given{{"allowzero", std::int64_t{1}}};
  const Reduction reduction(context);
  const Dims axes = reduction.known_axes();
  const Dims dims = context.static_dims(context.input(0));
  IntList order;
  Dims rows;
  for (std::int64_t axis = 0; axis < std::ssize(dims); ++axis) {
    if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
    order.push_back(axis);
    rows.push_back(dims[axis]);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  Dims moved;
  IntList back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    moved.push_back(dims[order[i]]);
    back[order[i]] = i;
  }
  std::int64_t count = 1;
  for (std::int64_t axis : axes) count *= dims[axis];
  rows.push_back(count);
  const Term last = term(context, context.input(0))
                        .call("Transpose", {{"perm", order}})
                        .with("Reshape", context.ints(rows), as_given);
  const Term others = product_of_others(last)
                          .with("Reshape", context.ints(moved), as_given)
                          .call("Transpose", {{"perm", back}});
  context.set(0, others * reduction.flow());
}

void reduce_l1_gradient(GradientContext& context) {
  const Reduction reduction(context);
  context.set(0, reduction.flow() * reduction.x().call("Sign"));
}

// 0 where the norm is 0, which has no slope there.
void reduce_l2_gradient(GradientContext& context) {
  const Reduction reduction(context);
  const Term norm = reduction.output();
  const Term is_there = norm > 0;
  const Term share = reduction.flow() / choose(is_there, norm, 1);
  context.set(0, reduction.x() * choose(is_there, share, 0));
}

void reduce_log_sum_gradient(GradientContext& context) {
  const Reduction reduction(context);
  context.set(0, reduction.spread(reduction.flow() / reduction.output().call("Exp")));
}

void reduce_log_sum_exp_gradient(GradientContext& context) {
  const Reduction reduction(context);
  context.set(0, (reduction.x() - reduction.output()).call("Exp") * reduction.flow());
}

void reduce_sum_square_gradient(GradientContext& context) {
  const Reduction reduction(context);
  context.set(0, reduction.x() * reduction.flow() * 2);
}

// Element i is start + i * delta.
void range_gradient(GradientContext& context) {
  const Term flow = flow_of(context);
  const auto total = [&](Term x, std::size_t i) {
    context.set(i,
                context.reshape_like(x.call("ReduceSum", {{"keepdims", std::int64_t{0}}}), context.input(i)));
  };
  if (context.wants(0)) total(flow, 0);
  if (!context.wants(2)) return;
  const Term ones = term(context, context.filled_like(flow, 1));
  total(flow * ones.with("CumSum", context.builder.constant(Tensor::scalar<std::int64_t>(0)),
                         {{"exclusive", std::int64_t{1}}}),
        2);
}

void cum_sum_gradient(GradientContext& context) {
  const std::int64_t back = attribute<std::int64_t>(context.op, "reverse") == 0 ? 1 : 0;
  const std::int64_t exclusive = attribute<std::int64_t>(context.op, "exclusive");
  context.set(
      0, flow_of(context).with("CumSum", context.input(1), {{"exclusive", exclusive}, {"reverse", back}}));
}

// The sum over every output of its product without one factor: also where factors are 0. Factors lie along
// the last axis, outputs along a new one behind it.
void cum_prod_gradient(GradientContext& context) {
  const std::int64_t axis = cumulated_axis(context);
  const Dims dims = context.static_dims(context.input(0));
  const std::int64_t count = dims[axis];
  const std::int64_t reverse = attribute<std::int64_t>(context.op, "reverse");
  const std::int64_t exclusive = attribute<std::int64_t>(context.op, "exclusive");
  IntList order(dims.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::swap(order[axis], order.back());
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
  const Term shares =
      choose(term(context, context.builder.constant(counts)), products * last(flow_of(context), -2), 0);
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
  if (!context.wants(1)) return;
  if (context.rank(right) == 2 && context.rank(left) > 2) {
    // One product of all rows, not a sum of products.
    const auto rows = [&](ValueId value) {
      return context.call("Flatten", {value}, {{"axis", std::int64_t{-1}}});
    };
    const ValueId product = context.call("MatMul", {transposed(context, rows(left)), rows(flow)});
    return context.set(1, context.reshape_like(product, b));
  }
  const ValueId product = context.call("MatMul", {transposed(context, left), flow});
  context.set(1, context.reshape_like(context.sum_to_shape_of(product, right), b));
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
    const ValueId scaled =
        context.call("Mul", {flow, context.number(attribute<float>(context.op, "beta"), flow)});
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

}  // namespace

std::span<const GradientRow> reduction_gradients() {
  static constexpr GradientRow kRows[]{
      {"Range", range_gradient},
      {"Softmax", softmax_gradient},
      {"LogSoftmax", log_softmax_gradient},
      {"MatMul", matmul_gradient},
      {"Gemm", gemm_gradient},
      {"ReduceSum", reduce_sum_gradient},
      {"ReduceMean", reduce_mean_gradient},
      {"ReduceMax", reduce_extreme_gradient},
      {"ReduceMin", reduce_extreme_gradient},
      {"ReduceProd", reduce_prod_gradient},
      {"ReduceL1", reduce_l1_gradient},
      {"ReduceL2", reduce_l2_gradient},
      {"ReduceLogSum", reduce_log_sum_gradient},
      {"ReduceLogSumExp", reduce_log_sum_exp_gradient},
      {"ReduceSumSquare", reduce_sum_square_gradient},
      {"CumSum", cum_sum_gradient},
      {"CumProd", cum_prod_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
