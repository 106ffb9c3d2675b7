// Losses over classes: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <optional>

#include "ir/ops/gradient_terms.h"
#include "ir/ops/gradients.h"

namespace podium::ir {
namespace {

// What flows into the log-probability of each sample's own class, [N, 1, ...]: minus its weight, shared out as the
// reduction does.
Term flow_into_targets(GradientContext& context, Term targets, Term like) {
  Term weights = like.like(1);
  if (context.has_input(2)) {
    if (context.wants(2)) throw Error("the gradient of a loss by its class weights is not known");
    // A label that is ignored need not be a class.
    const std::int64_t count = context.static_dims(like)[1];
    const Term classes = targets.with("Mod", context.builder.constant(Tensor::scalar(count)));
    weights = term(context, context.input(2)).with("Gather", classes);
  }
  if (const auto* ignored = attribute_if<std::int64_t>(context.op, "ignore_index")) {
    const ValueId label = context.builder.constant(Tensor::scalar(*ignored));
    weights = choose(targets.with("Equal", label), like.like(0), weights);
  }
  weights = weights.with("Expand", context.shape_of(targets));
  const auto& reduction = attribute<std::string>(context.op, "reduction");
  Term flow = flow_of(context);
  if (reduction == "none") flow = flow.with("Unsqueeze", context.ints({1}));
  if (reduction == "mean") flow = flow / weights.call("ReduceSum", {{"keepdims", std::int64_t{0}}});
  return -(flow * weights);
}

// Whether a class is the sample's own, [N, C, ...].
Term is_target(GradientContext& context, Term targets, ValueId scores) {
  const Dims dims = context.static_dims(scores);
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(dims[1]));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  Dims shape(dims.size(), 1);
  shape[1] = dims[1];
  return targets.with("Equal", context.builder.constant(Tensor::ints(numbers).reshaped(shape)));
}

Term targets_of(GradientContext& context) {
  const ValueId wide = context.call("Cast", {context.input(1)}, {{"to", static_cast<std::int64_t>(DataType::Int64)}});
  return term(context, wide).with("Unsqueeze", context.ints({1}));
}

}  // namespace

void negative_log_likelihood_gradient(GradientContext& context) {
  const Term input = term(context, context.input(0));
  const Term targets = targets_of(context);
  const Term flow = flow_into_targets(context, targets, input);
  context.set(0, choose(is_target(context, targets, input), flow, 0));
}

void softmax_cross_entropy_gradient(GradientContext& context) {
  const Term scores = term(context, context.input(0));
  const Term shares = scores.call("Softmax", {{"axis", std::int64_t{1}}});
  std::optional<Term> total;
  if (context.output_gradient().valid()) {
    const Term targets = targets_of(context);
    const Term flow = flow_into_targets(context, targets, scores);
    total = choose(is_target(context, targets, scores), flow, 0) - shares * flow;
  }
  if (context.output_gradients.size() > 1 && context.output_gradient(1).valid()) {
    const Term flow = term(context, context.output_gradient(1));
    const Term through = flow - shares * flow.with("ReduceSum", context.ints({1}));
    total = total ? *total + through : through;
  }
  if (total) context.set(0, *total);
}

}  // namespace podium::ir
