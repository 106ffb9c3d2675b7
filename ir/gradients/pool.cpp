// Pools. The gradient of an average spreads the flow over each window (PoolGradient, divided by the elements
// that share the average), that of a maximum puts the flow where the maximum was. Gradients of these
// gradients are the opposite moves: sums over windows, and the elements at the maxima. A norm
// y = (sum |x|^p)^(1/p) goes through the spread of flow / y^(p-1).
#include <numeric>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/window.h"

namespace podium::ir {
namespace {

Window window_of(GradientContext& context) {
  return pool_window(TypedOp(context.builder.graph(), context.op), context.static_dims(context.input(0)));
}

// Gives each element the sum of the gradients of all windows that cover it.
Term spread(Term flow, const Window& window) {
  std::vector<Attribute> attributes = window_attributes(window);
  attributes.push_back({"input_shape", window.input});
  return {flow.builder,
          flow.builder->builder.ops("podium", "SumPoolGradient", {flow}, 1, std::move(attributes))[0]};
}

// Per window, how many elements share its average.
Term shares(GradientContext& context, const Window& window, bool with_padding) {
  std::vector<double> counts{1};
  for (std::size_t axis = 0; axis < window.rank(); ++axis) {
    std::vector<double> longer;
    for (double before : counts) {
      for (std::int64_t count : seen_counts(window, axis, with_padding)) {
        longer.push_back(before * static_cast<double>(count));
      }
    }
    counts = std::move(longer);
  }
  const ValueId known = context.builder.constant(Tensor::of<double>(windowed_dims(1, 1, window), counts));
  return {&context, context.call("CastLike", {known, context.output_gradient()})};
}

Term powered(Term x, std::int64_t power) {
  if (power == 1) return x;
  return power == 2 ? x * x : x.with("Pow", x.like(static_cast<double>(power)));
}

// y = (sum of |x|^p)^(1/p): sign(x) |x|^(p-1) times the sum over windows of flow / y^(p-1). 0 where y is 0.
template <class Spread>
void set_norm_gradient(GradientContext& context, const Spread& spread_over) {
  const std::int64_t p = attribute<std::int64_t>(context.op, "p");
  const Term x = term(context, context.input(0));
  const Term flow = flow_of(context);
  if (p == 1) return context.set(0, x.call("Sign") * spread_over(flow));
  const Term y = term(context, context.output());
  const Term is_there = y > 0;
  const Term rest = choose(is_there, flow / powered(choose(is_there, y, 1), p - 1), 0);
  const Term slope = p == 2 ? x : x.call("Sign") * powered(x.call("Abs"), p - 1);
  context.set(0, slope * spread_over(rest));
}

Dims spatial_axes(const GradientContext& context) {
  Dims axes(context.rank(context.input(0)) - 2);
  std::iota(axes.begin(), axes.end(), std::int64_t{2});
  return axes;
}

Term flat(Term x) { return x.with("Reshape", x.builder->ints({-1})); }

void average_pool_gradient(GradientContext& context) {
  const Window window = window_of(context);
  const bool with_padding = attribute<std::int64_t>(context.op, "count_include_pad") != 0;
  context.set(0, spread(flow_of(context) / shares(context, window, with_padding), window));
}

// The second gradient is the sum of the incoming one over each window.
void sum_pool_gradient_gradient(GradientContext& context) {
  std::vector<Attribute> attributes = context.op.attributes;
  std::erase_if(attributes, [](const Attribute& attribute) { return attribute.name == "input_shape"; });
  attributes.push_back({"count_include_pad", std::int64_t{1}});
  const std::int64_t seen = element_count(attribute<IntList>(context.op, "kernel_shape"));
  context.set(0, flow_of(context).call("AveragePool", std::move(attributes)) * static_cast<double>(seen));
}

void max_pool_gradient(GradientContext& context) {
  if (!context.output_gradient().valid()) return;
  context.set(
      0, context.builder.ops("podium", "MaxPoolGradient", {context.input(0), context.output_gradient()}, 1,
                             window_attributes(window_of(context)))[0]);
}

// Takes the gradient at the positions of the maxima; these do not change with X.
void max_pool_gradient_gradient(GradientContext& context) {
  if (!context.wants(1)) return;
  const ValueId places = context.builder.ops("", "MaxPool", {context.input(0)}, 2, context.op.attributes)[1];
  context.set(1, flat(flow_of(context)).with("Gather", places));
}

void lp_pool_gradient(GradientContext& context) {
  const Window window = window_of(context);
  set_norm_gradient(context, [&](Term rest) { return spread(rest, window); });
}

void global_average_pool_gradient(GradientContext& context) {
  const Dims dims = context.static_dims(context.input(0));
  const std::int64_t size = element_count(Dims(dims.begin() + 2, dims.end()));
  const Term share = flow_of(context) * (1 / static_cast<double>(size));
  context.set(0, context.call("Expand", {share, context.ints(dims)}));
}

// Elements that equal the maximum share its gradient.
void global_max_pool_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Term ones = choose(x.with("Equal", context.output()), x.like(1), 0);
  const Term count = ones.with("ReduceSum", context.ints(spatial_axes(context)),
                               {{"noop_with_empty_axes", std::int64_t{1}}});
  context.set(0, ones * (flow_of(context) / count));
}

void global_lp_pool_gradient(GradientContext& context) {
  set_norm_gradient(context, [](Term rest) { return rest; });
}

// The output may be larger or smaller than the tensor that was pooled: indices refer to the latter, so the
// gradient is padded or cut to it. Elements put at one position (equal maxima of overlapping windows) get the
// same gradient.
void max_unpool_gradient(GradientContext& context) {
  const TypedOp op(context.builder.graph(), context.op);
  const Dims pooled_from = unpooled_dims(op, context.static_dims(context.input(0)));
  Term flow = flow_of(context);
  Dims pads(pooled_from.size(), 0);
  const Dims dims = context.static_dims(flow);
  for (std::size_t i = 0; i < dims.size(); ++i) pads.push_back(pooled_from[i] - dims[i]);
  if (dims != pooled_from) flow = flow.with("Pad", context.ints(pads));
  context.set(0, flat(flow).with("Gather", context.input(1)));
}

}  // namespace

std::span<const GradientRow> pool_gradients() {
  static constexpr GradientRow kRows[]{
      {"AveragePool", average_pool_gradient},
      {"LpPool", lp_pool_gradient},
      {"MaxPool", max_pool_gradient},
      {"GlobalAveragePool", global_average_pool_gradient},
      {"GlobalMaxPool", global_max_pool_gradient},
      {"GlobalLpPool", global_lp_pool_gradient},
      {"MaxUnpool", max_unpool_gradient},
      {"MaxPoolGradient", max_pool_gradient_gradient, "podium"},
      {"SumPoolGradient", sum_pool_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
