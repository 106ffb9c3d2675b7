// Appends one of ONNX's losses, or squares and magnitudes of differences (semantics, section 10.2). Classes
// that are not on axis 1 are moved to the end and samples flattened to rows. With ignored labels a mean is
// the sum over at least one counted label, so that a micro-batch of ignored labels has a loss of 0. All ops
// are named after the loss and placed where the output is made.
#include "ir/passes/add_loss.h"

#include <algorithm>
#include <numeric>

#include "ir/gradients/terms.h"
#include "ir/nearest.h"
#include "ir/passes/inherit_placement.h"

namespace podium::ir {
namespace {

constexpr double kSmallestProbability = 1e-7;
constexpr double kSmallestFloat16Probability = 6.104e-05;

class LossBuilder {
 public:
  LossBuilder(Graph& graph, LossKind kind, const std::string& output, const LossOptions& options)
      : graph_(graph),
        kind_(kind),
        options_(options),
        builder_(graph),
        terms_(builder_),
        output_(term(terms_, find_output(graph, output))),
        type_(graph[output_].type) {
    if (!type_.is_static() || !is_float(type_.element)) {
      throw Error("output '{}': {} found, a tensor of floats of known size needed for a loss", output,
                  to_string(type_));
    }
    const int least_rank = is_of_classes(kind) || kind == LossKind::L1 ? 1 : 0;
    if (type_.rank() < least_rank)
      throw Error("output '{}': a scalar found, at least one dimension needed for this loss", output);
  }

  ValueId loss(const std::string& target) {
    return is_of_classes(kind_) ? of_classes(target) : of_differences(target);
  }

 private:
  bool is_mean() const { return options_.reduction == LossReduction::Mean; }

  Term target_input(const std::string& name, const Type& needed) {
    if (name.empty()) throw Error("this loss needs a target");
    for (ValueId id : graph_.inputs) {
      if (graph_[id].name != name) continue;
      Type found = graph_[id].type;
      if (is_of_classes(kind_) && is_integer(found.element)) found.element = needed.element;
      if (found == needed) return term(terms_, id);
      throw Error("target '{}': the model's input is {}, {} needed", name, to_string(found),
                  to_string(needed));
    }
    return term(terms_, builder_.input(name, needed));
  }

  // ONNX's losses have [samples, classes, ...] with at least these two axes.
  Term of_classes(const std::string& target) {
    const std::int64_t axis = normalized_axis(options_.class_axis, type_.rank(), "axis of classes");
    Type label_type = Type::tensor(DataType::Int64, type_.dims);
    label_type.dims.erase(label_type.dims.begin() + axis);
    Term labels = target_input(target, label_type);
    Term scores = output_;
    if (axis != 1) {
      scores = classes_last(scores, axis).with("Reshape", terms_.ints({-1, type_.dims[axis]}));
      labels = labels.with("Reshape", terms_.ints({-1}));
    }
    if (graph_[labels].type.element != DataType::Int64) labels = labels.cast(DataType::Int64);
    return kind_ == LossKind::CrossEntropy ? compare("SoftmaxCrossEntropyLoss", scores, labels)
                                           : compare("NegativeLogLikelihoodLoss", logarithms(scores), labels);
  }

  Term classes_last(Term scores, std::size_t axis) const {
    IntList order(type_.dims.size());
    std::iota(order.begin(), order.end(), 0);
    std::rotate(order.begin() + axis, order.begin() + axis + 1, order.end());
    return axis + 1 == order.size() ? scores : scores.call("Transpose", {{"perm", order}});
  }

  Term logarithms(Term scores) const {
    if (kind_ == LossKind::LogNegativeLogLikelihood) return scores;
    const bool is_half = type_.element == DataType::Float16;
    const Term least = scores.like(is_half ? kSmallestFloat16Probability : kSmallestProbability);
    return scores.with("Max", least, {{std::string(kPassesGradient), std::int64_t{1}}}).call("Log");
  }

  Term compare(std::string_view op, Term scores, Term labels) {
    const std::string reduction = is_mean() ? "mean" : "sum";
    if (!options_.ignored_label) return scores.with(op, labels, {{"reduction", reduction}});
    const std::int64_t ignored = *options_.ignored_label;
    const Term sum = scores.with(op, labels, {{"reduction", std::string("sum")}, {"ignore_index", ignored}});
    if (!is_mean()) return sum;
    // At least one, so that a micro-batch of which every label is ignored has a loss.
    const Term is_ignored = labels.with("Equal", builder_.constant(Tensor::scalar(ignored)));
    const Term count =
        is_ignored.call("Not").cast(type_.element).call("ReduceSum", {{"keepdims", std::int64_t{0}}});
    return sum / count.with("Max", count.like(1));
  }

  Term of_differences(const std::string& target) {
    const bool is_l1 = kind_ == LossKind::L1;
    Term difference = output_;
    if (!is_l1 || !target.empty()) difference = output_ - target_input(target, type_);
    const Term sizes = is_l1 ? difference.call("Abs") : difference * difference;
    const Term loss = sizes.call(is_mean() ? "ReduceMean" : "ReduceSum", {{"keepdims", std::int64_t{0}}});
    return is_l1 && options_.lambda != 1 ? loss * options_.lambda : loss;
  }

  Graph& graph_;
  LossKind kind_;
  const LossOptions& options_;
  Builder builder_;
  TermBuilder terms_;
  Term output_;
  Type type_;
};

}  // namespace

bool is_of_classes(LossKind kind) { return kind != LossKind::L1 && kind != LossKind::MeanSquaredError; }

ValueId find_output(const Graph& graph, const std::string& name) {
  for (ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return id;
  }
  std::vector<std::string_view> names;
  for (ValueId id : graph.outputs) names.push_back(graph[id].name);
  throw Error("output '{}': the model has none of this name, the nearest is '{}'", name,
              nearest(name, names));
}

std::string add_loss(Graph& graph, LossKind kind, const std::string& output, const std::string& target,
                     const LossOptions& options) {
  const ValueId of = find_output(graph, output);
  const OpId maker = producers(graph)[of];
  const std::vector<Attribute> place = maker.valid() ? place_of(graph[maker]) : std::vector<Attribute>();
  const std::size_t before = graph.ops.size();
  const bool is_taken = std::any_of(graph.values.begin(), graph.values.end(),
                                    [](const Value& value) { return value.name == "loss"; });
  const std::string name = is_taken ? graph.fresh_name("loss") : "loss";
  const ValueId loss = LossBuilder(graph, kind, output, options).loss(target);
  graph[loss].name = name;
  graph.outputs.push_back(loss);
  for (std::size_t i = before; i < graph.ops.size(); ++i) {
    Op& op = graph.ops[i];
    op.name = fmt::format("{}/{}", name, op.spec->name);
    for (const Attribute& attribute : place) set_attribute(op, attribute.name, attribute.value);
  }
  return name;
}

}  // namespace podium::ir
