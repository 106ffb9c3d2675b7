#include "annotate/normalisation_steps.h"

#include <algorithm>
#include <numeric>

#include "annotate/partition.h"
#include "ir/term.h"

namespace podium::annotate {
namespace {

using ir::Term;

bool is_loss(const ir::Op& op) { return op.is("SoftmaxCrossEntropyLoss"); }

std::vector<std::int64_t> counted(std::int64_t count) {
  std::vector<std::int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// The scores without their maximum, and the logarithm of the sum of their powers.
struct Scores {
  Term shifted;
  Term powers;
  Term total;
};

Scores scores_of(Term x, std::int64_t axis) {
  ir::TermBuilder& builder = *x.builder;
  const Term shifted = x - x.with("ReduceMax", builder.ints({axis}));
  const Term powers = shifted.call("Exp");
  return {shifted, powers, powers.with("ReduceSum", builder.ints({axis}))};
}

// -log of the share of each label's class: the class is found by comparing, which each part does for its own.
Term losses_of(const Scores& scores, ir::TermBuilder& builder, ir::ValueId labels) {
  constexpr std::int64_t kClasses = 1;
  const ir::Dims dims = builder.static_dims(scores.shifted);
  ir::Dims shape(dims.size(), 1);
  shape[kClasses] = dims[kClasses];
  const Term classes =
      term(builder, builder.ints(counted(dims[kClasses]))).with("Reshape", builder.ints(shape));
  const Term own = term(builder, labels)
                       .cast(ir::DataType::Int64)
                       .with("Unsqueeze", builder.ints({kClasses}))
                       .with("Equal", classes);
  const ir::ValueId axis = builder.ints({kClasses});
  const std::vector<ir::Attribute> drops{{"keepdims", std::int64_t{0}}};
  const Term score = choose(own, scores.shifted, 0).with("ReduceSum", axis, drops);
  return scores.total.with("Squeeze", axis).call("Log") - score;
}

Term result_of(ir::TermBuilder& builder, const ir::Op& op, std::int64_t axis) {
  const Scores scores = scores_of(term(builder, op.inputs[0]), axis);
  if (op.is("Softmax")) return scores.powers / scores.total;
  if (op.is("LogSoftmax")) return scores.shifted - scores.total.call("Log");
  const Term losses = losses_of(scores, builder, op.inputs[1]);
  const auto& reduction = ir::attribute<std::string>(op, "reduction");
  if (reduction == "none") return losses.call("Identity");
  return losses.call(reduction == "sum" ? "ReduceSum" : "ReduceMean", {{"keepdims", std::int64_t{0}}});
}

bool has_output(const ir::Op& op, std::size_t i) { return i < op.outputs.size() && op.outputs[i].valid(); }

// y = (x - mean) / sqrt(variance + epsilon) * scale + bias; of the running statistics that are outputs, each
// is momentum * before + (1 - momentum) * the batch's. Nothing for an output that is left out.
std::vector<ir::ValueId> batch_norm_results(ir::TermBuilder& builder, const ir::Op& op,
                                            const std::vector<std::int64_t>& axes) {
  const Term x = term(builder, op.inputs[0]);
  ir::Dims of_channels(builder.rank(x), 1);
  of_channels[1] = -1;
  const auto per_channel = [&](std::size_t input) {
    return term(builder, op.inputs[input]).with("Reshape", builder.ints(of_channels));
  };
  const Term mean = x.with("ReduceMean", builder.ints(axes));
  const Term moved = x - mean;
  const Term variance = (moved * moved).with("ReduceMean", builder.ints(axes));
  const Term deviation = (variance + static_cast<double>(ir::attribute<float>(op, "epsilon"))).call("Sqrt");
  std::vector<ir::ValueId> results{moved / deviation * per_channel(1) + per_channel(2)};
  const double momentum = static_cast<double>(ir::attribute<float>(op, "momentum"));
  constexpr std::size_t kBefore = 2;  // how many inputs in front of a running statistic its output is
  for (std::size_t i = 1; i < op.outputs.size(); ++i) {
    const Term now = (i == 1 ? mean : variance).with("Reshape", builder.ints({-1}));
    results.push_back(has_output(op, i) ? ir::ValueId(term(builder, op.inputs[i + kBefore]) * momentum +
                                                      now * (1 - momentum))
                                        : ir::kNoValue);
  }
  return results;
}

bool trains_of_one_type(const ir::Graph& graph, const ir::Op& op) {
  if (!op.is("BatchNormalization") || ir::attribute<std::int64_t>(op, "training_mode") == 0) return false;
  return std::ranges::all_of(op.inputs, [&](ir::ValueId id) {
    return graph[id].type.is_static() && graph[id].type.element == graph[op.inputs[0]].type.element;
  });
}

}  // namespace

std::vector<std::int64_t> axes_of_steps(const ir::Graph& graph, const ir::Op& op) {
  if (trains_of_one_type(graph, op)) {
    std::vector<std::int64_t> axes = counted(graph[op.inputs[0]].type.rank());
    std::erase(axes, 1);
    return axes;
  }
  if (!op.is("Softmax") && !op.is("LogSoftmax") && !is_loss(op)) return {};
  const ir::Type& type = graph[op.inputs[0]].type;
  if (!type.is_static() || (!is_loss(op) && type.rank() == 0)) return {};
  if (!is_loss(op)) return {ir::normalized_axis(ir::attribute<std::int64_t>(op, "axis"), type.rank())};
  constexpr std::size_t kWeights = 2;
  const bool has_weights = op.inputs.size() > kWeights && op.inputs[kWeights].valid();
  if (has_weights || has_output(op, 1) || ir::find_attribute(op, "ignore_index") != nullptr) return {};
  return {1};
}

std::vector<ir::Op> normalisation_steps(ir::Graph& graph, const ir::Op& op) {
  const std::size_t first = graph.ops.size();
  ir::Builder appends(graph);
  ir::TermBuilder builder(appends);
  const std::vector<std::int64_t> axes = axes_of_steps(graph, op);
  const std::vector<ir::ValueId> results = op.is("BatchNormalization")
                                               ? batch_norm_results(builder, op, axes)
                                               : std::vector<ir::ValueId>{result_of(builder, op, axes[0])};
  std::vector<ir::Op> steps(std::move_iterator(graph.ops.begin() + first),
                            std::move_iterator(graph.ops.end()));
  graph.ops.resize(first);
  for (ir::Op& step : steps) {
    step.name = op.name;
    for (const ir::Attribute& attribute : op.attributes) {
      const bool is_kept = attribute.name.starts_with("__") && attribute.name != kShardingPlace;
      if (is_kept) step.attributes.push_back(attribute);
    }
    const auto result = std::ranges::find(results, step.outputs[0]);
    if (result != results.end()) step.outputs = {op.outputs[result - results.begin()]};
  }
  return steps;
}

}  // namespace podium::annotate
