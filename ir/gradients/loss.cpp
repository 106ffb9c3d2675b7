// Losses over classes: NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss.
#include <optional>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

// A label that is ignored need not be a class: it becomes one.
Term classes_of(GradientContext& context, Term targets) {
  const std::int64_t count = context.static_dims(context.input(0))[1];
  return targets.with("Mod", context.builder.constant(Tensor::scalar(count)));
}

// 0 for samples that are ignored.
Term unless_ignored(GradientContext& context, Term targets, Term value) {
  const auto* ignored = attribute_if<std::int64_t>(context.op, "ignore_index");
  if (ignored == nullptr) return value;
  const ValueId label = context.builder.constant(Tensor::scalar(*ignored));
  return choose(targets.with("Equal", label), value.like(0), value);
}

// The weight of each sample, [N, 1, ...].
Term weights_of(GradientContext& context, Term targets, Term like) {
  Term weights = like.like(1);
  if (context.has_input(2)) {
    weights = term(context, context.input(2)).with("Gather", classes_of(context, targets));
  }
  return unless_ignored(context, targets, weights).with("Expand", context.shape_of(targets));
}

// The gradient of each sample's loss, without its weight, divided as the reduction does.
Term flow_into_samples(GradientContext& context, Term weights) {
  const auto& reduction = attribute<std::string>(context.op, "reduction");
  const Term flow = flow_of(context);
  if (reduction == "none") return flow.with("Unsqueeze", context.ints({1}));
  if (reduction != "mean") return flow;
  const Term total = weights.call("ReduceSum", {{"keepdims", std::int64_t{0}}});
  if (attribute_if<std::int64_t>(context.op, "ignore_index") == nullptr) return flow / total;
  // Where all samples are ignored nothing flows.
  return flow / choose(total.with("Equal", total.like(0)), total.like(1), total);
}

// The gradient of the log-probability of each sample's own class, [N, 1, ...].
Term flow_into_targets(GradientContext& context, Term targets, Term like) {
  const Term weights = weights_of(context, targets, like);
  return -(flow_into_samples(context, weights) * weights);
}

// A class's weight counts once for each of its samples; a mean is divided by the sum of the weights, too.
void set_gradient_of_class_weights(GradientContext& context, Term targets, Term logarithms) {
  const Term classes = classes_of(context, targets);
  Term losses = -logarithms.with("GatherElements", classes, {{"axis", std::int64_t{1}}});
  if (attribute<std::string>(context.op, "reduction") == "mean")
    losses = losses - term(context, context.output());
  const Term flow = flow_into_samples(context, weights_of(context, targets, logarithms));
  const Term shares = unless_ignored(context, targets, flow * losses);
  const ValueId all = context.ints({-1});
  const Term nothing = term(context, context.filled_like(context.input(2), 0));
  context.set(
      2, context.call("ScatterElements", {nothing, classes.with("Reshape", all), shares.with("Reshape", all)},
                      {{"axis", std::int64_t{0}}, {"reduction", std::string("add")}}));
}

// Whether a class is the sample's own, [N, C, ...].
Term is_target(GradientContext& context, Term targets, ValueId scores) {
  const Dims dims = context.static_dims(scores);
  Dims shape(dims.size(), 1);
  shape[1] = dims[1];
  return targets.with("Equal", counted(context, shape));
}

Term targets_of(GradientContext& context) {
  return term(context, context.input(1)).cast(DataType::Int64).with("Unsqueeze", context.ints({1}));
}

void negative_log_likelihood_gradient(GradientContext& context) {
  const Term input = term(context, context.input(0));
  const Term targets = targets_of(context);
  if (context.wants(0)) {
    const Term flow = flow_into_targets(context, targets, input);
    context.set(0, choose(is_target(context, targets, input), flow, 0));
  }
  if (context.wants(2)) set_gradient_of_class_weights(context, targets, input);
}

void softmax_cross_entropy_gradient(GradientContext& context) {
  const Term scores = term(context, context.input(0));
  const Term shares = scores.call("Softmax", {{"axis", std::int64_t{1}}});
  std::optional<Term> total;
  if (context.output_gradient().valid()) {
    const Term targets = targets_of(context);
    const Term flow = flow_into_targets(context, targets, scores);
    total = choose(is_target(context, targets, scores), flow, 0) - shares * flow;
    if (context.wants(2)) {
      set_gradient_of_class_weights(context, targets, scores.call("LogSoftmax", {{"axis", std::int64_t{1}}}));
    }
  }
  if (context.output_gradients.size() > 1 && context.output_gradient(1).valid()) {
    const Term flow = term(context, context.output_gradient(1));
    const Term through = flow - shares * flow.with("ReduceSum", context.ints({1}));
    total = total ? *total + through : through;
  }
  if (total) context.set(0, *total);
}

}  // namespace

std::span<const GradientRow> loss_gradients() {
  static constexpr GradientRow kRows[]{
      {"NegativeLogLikelihoodLoss", negative_log_likelihood_gradient},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
