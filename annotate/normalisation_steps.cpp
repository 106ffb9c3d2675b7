// What normalises over axes that are cut, as steps whose reductions are of parts:
//
//   Softmax       shifted = x - max x, powers = exp shifted, total = sum powers; y = powers / total
//   losses        log total - shifted of the label's class, which each part looks for among its own
//   norms         mean, then the mean of the squares of what is left without it, of all parts (Welford's
//                 combination by way of two reductions); y = moved / sqrt(variance + epsilon) * scale + bias
//
// Numbers of 16 bits are widened first, as kernels do, and narrowed once at the end.
#include <algorithm>
#include <numeric>

#include "annotate/op_steps.h"

namespace podium::annotate {
namespace {

using ir::Term;
using ir::TermBuilder;
using ir::TypedOp;
using ir::ValueId;

constexpr std::int64_t kClasses = 1;
constexpr std::int64_t kChannels = 1;
constexpr std::int64_t kFirstSpatial = 2;

std::vector<std::int64_t> counted(std::int64_t begin, std::int64_t end) {
  std::vector<std::int64_t> numbers(std::max<std::int64_t>(end - begin, 0));
  std::iota(numbers.begin(), numbers.end(), begin);
  return numbers;
}

Term narrowed(Term wide, ir::DataType element) {
  return wide.builder->type(wide).element == element ? wide.call("Identity") : wide.cast(element);
}

// ---- Softmax and its losses -----------------------------------------------------------------------------

// The scores without their maximum, and the sum of their powers.
struct Scores {
  Term shifted;
  Term powers;
  Term total;
};

Scores scores_of(Term x, std::int64_t axis) {
  const ValueId axes = x.builder->ints({axis});
  const Term shifted = x - x.with("ReduceMax", axes);
  const Term powers = shifted.call("Exp");
  return {shifted, powers, powers.with("ReduceSum", axes)};
}

std::int64_t own_axis(const TypedOp& op) {
  return ir::normalized_axis(op.get_int("axis"), op.input(0).rank());
}

std::vector<InputAxis> softmax_axes(const TypedOp& op) {
  return op.input(0).rank() == 0 ? std::vector<InputAxis>{} : axes_of_input(0, {own_axis(op)});
}

std::vector<ValueId> softmax_results(TermBuilder& builder, const TypedOp& op) {
  const Scores scores = scores_of(widened(builder, op.op.inputs[0]), own_axis(op));
  const Term y = op.op.is("Softmax") ? scores.powers / scores.total : scores.shifted - scores.total.call("Log");
  return {narrowed(y, op.element(0))};
}

/// One number for each label: whether the label counts, and what it weighs.
struct Labels {
  Term own;  ///< by class: the label's
  std::optional<Term> counts;
  std::optional<Term> weight;
};

// Which class a label has is found by comparing, which each part does for its own.
Labels labels_of(TermBuilder& builder, const TypedOp& op) {
  const ir::Dims& dims = op.dims(0);
  const ValueId axis = builder.ints({kClasses});
  const Term labels = term(builder, op.op.inputs[1]).cast(ir::DataType::Int64);
  const Term classes = counted_along(builder, dims[kClasses], kClasses, std::ssize(dims));
  Labels found{.own = labels.with("Unsqueeze", axis).with("Equal", classes), .counts = {}, .weight = {}};
  if (const auto* ignored = op.get_if<std::int64_t>("ignore_index"))
    found.counts = labels.with("Equal", builder.builder.constant(ir::Tensor::scalar(*ignored))).call("Not");
  constexpr std::size_t kWeights = 2;
  if (!op.has_input(kWeights)) return found;
  ir::Dims shape(dims.size(), 1);
  shape[kClasses] = dims[kClasses];
  const Term weights = term(builder, op.op.inputs[kWeights]).with("Reshape", builder.ints(shape));
  found.weight = choose(found.own, weights, 0).with("ReduceSum", axis, {{"keepdims", std::int64_t{0}}});
  return found;
}

// Of losses by label: each, their sum, or their mean by weight, which is 0 where no label counts.
Term reduced_losses(Term losses, const Labels& labels, const TypedOp& op) {
  if (labels.weight) losses = losses * *labels.weight;
  if (labels.counts) losses = choose(*labels.counts, losses, 0);
  const std::string& reduction = op.get_string("reduction");
  if (reduction == "none") return losses.call("Identity");
  const std::vector<ir::Attribute> drops{{"keepdims", std::int64_t{0}}};
  const bool is_plain = !labels.weight && !labels.counts;
  if (reduction == "sum" || is_plain) return losses.call(reduction == "sum" ? "ReduceSum" : "ReduceMean", drops);
  TermBuilder& builder = *losses.builder;
  Term weight = labels.weight ? *labels.weight : losses * 0 + 1;
  if (labels.counts) weight = choose(*labels.counts, weight, 0);
  const Term total = weight.call("ReduceSum", drops);
  const Term is_none = total.with("Equal", builder.number(0, total));
  const Term divisor = choose(is_none, term(builder, builder.number(1, total)), total);
  return losses.call("ReduceSum", drops) / divisor;
}

// A mean over labels that weigh unlike numbers is a mean of all parts' labels, so that a cut along any axis
// makes steps; else the op itself can be cut along those of the labels.
std::vector<InputAxis> loss_axes(const TypedOp& op) {
  constexpr std::size_t kWeights = 2;
  const bool all_count = !op.has_input(kWeights) && op.get_if<std::int64_t>("ignore_index") == nullptr;
  if (all_count && !op.has_output(1)) return axes_of_input(0, {kClasses});
  return axes_of_input(0, counted(0, op.input(0).rank()));
}

std::vector<ValueId> loss_results(TermBuilder& builder, const TypedOp& op) {
  const Term x = widened(builder, op.op.inputs[0]);
  const Labels labels = labels_of(builder, op);
  const ValueId axis = builder.ints({kClasses});
  const std::vector<ir::Attribute> drops{{"keepdims", std::int64_t{0}}};
  const auto of_label = [&](Term scores) {
    return choose(labels.own, scores, 0).with("ReduceSum", axis, drops);
  };
  if (op.op.is("NegativeLogLikelihoodLoss"))
    return {narrowed(reduced_losses(-of_label(x), labels, op), op.element(0))};
  const Scores scores = scores_of(x, kClasses);
  const Term log_total = scores.total.call("Log");
  const Term losses = log_total.with("Squeeze", axis) - of_label(scores.shifted);
  std::vector<ValueId> results{narrowed(reduced_losses(losses, labels, op), op.element(0))};
  if (op.has_output(1)) results.push_back(narrowed(scores.shifted - log_total, op.element(0)));
  return results;
}

// ---- means and deviations -------------------------------------------------------------------------------

struct Moments {
  Term mean;
  Term moved;  ///< without the mean
  Term variance;
};

Moments moments_of(Term x, const std::vector<std::int64_t>& over) {
  const ValueId axes = x.builder->ints(over);
  const Term mean = x.with("ReduceMean", axes);
  const Term moved = x - mean;
  return {mean, moved, (moved * moved).with("ReduceMean", axes)};
}

double epsilon_of(const TypedOp& op) { return static_cast<double>(op.get_float("epsilon")); }

// An input of one number a channel, as [channels, 1, ..].
Term per_channel(TermBuilder& builder, const TypedOp& op, std::size_t input) {
  ir::Dims shape(op.input(0).rank() - 1, 1);
  shape[0] = -1;
  return widened(builder, op.op.inputs[input]).with("Reshape", builder.ints(shape));
}

std::vector<InputAxis> batch_norm_axes(const TypedOp& op) {
  if (op.get_int("training_mode") == 0 || op.input(0).rank() < 2) return {};
  for (const ir::Type& type : op.input_types) {
    if (type.element != op.element(0)) return {};
  }
  std::vector<std::int64_t> axes = counted(0, op.input(0).rank());
  std::erase(axes, kChannels);
  return axes_of_input(0, axes);
}

// Of the running statistics that are outputs, each is momentum * before + (1 - momentum) * the batch's.
std::vector<ValueId> batch_norm_results(TermBuilder& builder, const TypedOp& op) {
  std::vector<std::int64_t> axes = counted(0, op.input(0).rank());
  std::erase(axes, kChannels);
  const Moments x = moments_of(term(builder, op.op.inputs[0]), axes);
  const Term deviation = (x.variance + epsilon_of(op)).call("Sqrt");
  ir::Dims of_channels(op.input(0).rank(), 1);
  of_channels[kChannels] = -1;
  const auto by_channel = [&](std::size_t input) {
    return term(builder, op.op.inputs[input]).with("Reshape", builder.ints(of_channels));
  };
  std::vector<ValueId> results{x.moved / deviation * by_channel(1) + by_channel(2)};
  const double momentum = static_cast<double>(op.get_float("momentum"));
  constexpr std::size_t kBefore = 2;  // how many inputs in front of a running statistic its output is
  for (std::size_t i = 1; i < op.output_count(); ++i) {
    if (!op.has_output(i)) {
      results.push_back(ir::kNoValue);
      continue;
    }
    const Term now = (i == 1 ? x.mean : x.variance).with("Reshape", builder.ints({-1}));
    results.push_back(term(builder, op.op.inputs[i + kBefore]) * momentum + now * (1 - momentum));
  }
  return results;
}

std::vector<std::int64_t> axes_from_own(const TypedOp& op) { return counted(own_axis(op), op.input(0).rank()); }

std::vector<InputAxis> layer_norm_axes(const TypedOp& op) { return axes_of_input(0, axes_from_own(op)); }

std::vector<ValueId> layer_norm_results(TermBuilder& builder, const TypedOp& op) {
  const Moments x = moments_of(widened(builder, op.op.inputs[0]), axes_from_own(op));
  const Term deviation = (x.variance + epsilon_of(op)).call("Sqrt");
  Term y = x.moved / deviation * widened(builder, op.op.inputs[1]);
  if (op.has_input(2)) y = y + widened(builder, op.op.inputs[2]);
  std::vector<ValueId> results{narrowed(y, op.element(0)), ir::kNoValue, ir::kNoValue};
  results.resize(op.output_count());
  if (op.has_output(1)) results[1] = narrowed(x.mean, op.output(1).element);
  if (op.has_output(2)) results[2] = narrowed(deviation.call("Reciprocal"), op.output(2).element);
  return results;
}

std::vector<ValueId> rms_norm_results(TermBuilder& builder, const TypedOp& op) {
  const Term x = widened(builder, op.op.inputs[0]);
  const Term square = (x * x).with("ReduceMean", builder.ints(axes_from_own(op)));
  const Term y = x / (square + epsilon_of(op)).call("Sqrt");
  const Term scale = widened(builder, op.op.inputs[1]);
  const ir::DataType element = builder.type(scale).element;
  const Term of_type = builder.type(y).element == element ? y : y.cast(element);
  return {narrowed(of_type * scale, op.output(0).element)};
}

std::vector<InputAxis> instance_norm_axes(const TypedOp& op) {
  return axes_of_input(0, counted(kFirstSpatial, op.input(0).rank()));
}

std::vector<ValueId> instance_norm_results(TermBuilder& builder, const TypedOp& op) {
  const Moments x =
      moments_of(widened(builder, op.op.inputs[0]), counted(kFirstSpatial, op.input(0).rank()));
  const Term y = x.moved / (x.variance + epsilon_of(op)).call("Sqrt");
  return {narrowed(y * per_channel(builder, op, 1) + per_channel(builder, op, 2), op.element(0))};
}

std::vector<InputAxis> group_norm_axes(const TypedOp& op) {
  return axes_of_input(0, counted(kChannels, op.input(0).rank()));
}

// A group's channels get an axis of their own.
std::vector<ValueId> group_norm_results(TermBuilder& builder, const TypedOp& op) {
  const ir::Dims& dims = op.dims(0);
  ir::Dims grouped = dims;
  const std::int64_t groups = op.get_int("num_groups");
  grouped[kChannels] = dims[kChannels] / groups;
  grouped.insert(grouped.begin() + kChannels, groups);
  const Term x = widened(builder, op.op.inputs[0]).with("Reshape", builder.ints(grouped));
  const Moments moments = moments_of(x, counted(kFirstSpatial, std::ssize(grouped)));
  const Term normal = moments.moved / (moments.variance + epsilon_of(op)).call("Sqrt");
  const Term y = normal.with("Reshape", builder.ints(dims));
  return {narrowed(y * per_channel(builder, op, 1) + per_channel(builder, op, 2), op.element(0))};
}

// A norm of 0 divides nothing.
std::vector<ValueId> lp_norm_results(TermBuilder& builder, const TypedOp& op) {
  const Term x = term(builder, op.op.inputs[0]);
  const bool squares = op.get_int("p") != 1;
  Term norm = x.with(squares ? "ReduceSumSquare" : "ReduceL1", builder.ints({own_axis(op)}));
  if (squares) norm = norm.call("Sqrt");
  const Term is_zero = norm.with("Equal", builder.number(0, norm));
  return {x / choose(is_zero, term(builder, builder.number(1, norm)), norm)};
}

std::vector<std::int64_t> given_axes(const TypedOp& op) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis : op.get<ir::IntList>("axes"))
    axes.push_back(ir::normalized_axis(axis, op.input(0).rank()));
  return axes;
}

std::vector<InputAxis> mean_variance_axes(const TypedOp& op) { return axes_of_input(0, given_axes(op)); }

std::vector<ValueId> mean_variance_results(TermBuilder& builder, const TypedOp& op) {
  constexpr double kEpsilon = 1e-9;  // of the op's definition: added to the deviation
  const Moments x = moments_of(term(builder, op.op.inputs[0]), given_axes(op));
  return {x.moved / (x.variance.call("Sqrt") + kEpsilon)};
}

}  // namespace

std::span<const StepsRow> normalisation_rows() {
  static const std::vector<StepsRow> kRows{
      {"Softmax", softmax_axes, softmax_results},
      {"LogSoftmax", softmax_axes, softmax_results},
      {"SoftmaxCrossEntropyLoss", loss_axes, loss_results},
      {"NegativeLogLikelihoodLoss", loss_axes, loss_results},
      {"BatchNormalization", batch_norm_axes, batch_norm_results},
      {"LayerNormalization", layer_norm_axes, layer_norm_results},
      {"RMSNormalization", layer_norm_axes, rms_norm_results},
      {"InstanceNormalization", instance_norm_axes, instance_norm_results},
      {"GroupNormalization", group_norm_axes, group_norm_results},
      {"LpNormalization", softmax_axes, lp_norm_results},
      {"MeanVarianceNormalization", mean_variance_axes, mean_variance_results},
  };
  return kRows;
}

}  // namespace podium::annotate
