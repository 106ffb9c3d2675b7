#include "annotate/softmax_steps.h"

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

}  // namespace

std::optional<std::int64_t> axis_of_steps(const ir::Graph& graph, const ir::Op& op) {
  if (!op.is("Softmax") && !op.is("LogSoftmax") && !is_loss(op)) return std::nullopt;
  const ir::Type& type = graph[op.inputs[0]].type;
  if (!type.is_static() || (!is_loss(op) && type.rank() == 0)) return std::nullopt;
  if (!is_loss(op)) return ir::normalized_axis(ir::attribute<std::int64_t>(op, "axis"), type.rank());
  constexpr std::size_t kWeights = 2;
  const bool has_weights = op.inputs.size() > kWeights && op.inputs[kWeights].valid();
  const bool has_logarithms = op.outputs.size() > 1 && op.outputs[1].valid();
  if (has_weights || has_logarithms || ir::find_attribute(op, "ignore_index") != nullptr) return std::nullopt;
  return 1;
}

std::vector<ir::Op> softmax_steps(ir::Graph& graph, const ir::Op& op) {
  const std::size_t first = graph.ops.size();
  ir::Builder appends(graph);
  ir::TermBuilder builder(appends);
  result_of(builder, op, *axis_of_steps(graph, op));
  std::vector<ir::Op> steps(std::move_iterator(graph.ops.begin() + first),
                            std::move_iterator(graph.ops.end()));
  graph.ops.resize(first);
  for (ir::Op& step : steps) {
    step.name = op.name;
    for (const ir::Attribute& attribute : op.attributes) {
      const bool is_kept = attribute.name.starts_with("__") && attribute.name != kShardingPlace;
      if (is_kept) step.attributes.push_back(attribute);
    }
  }
  steps.back().outputs = {op.outputs[0]};
  return steps;
}

}  // namespace podium::annotate
