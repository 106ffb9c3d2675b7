#include "ir/passes/add_loss.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/nearest.h"
#include "ir/passes/inherit_placement.h"

namespace podium::ir {
namespace {

ValueId find_value(const Graph& graph, const std::vector<ValueId>& among, const std::string& name) {
  const auto found = std::find_if(among.begin(), among.end(), [&](ValueId id) { return graph[id].name == name; });
  return found == among.end() ? kNoValue : *found;
}

ValueId find_output(const Graph& graph, const std::string& name) {
  const ValueId output = find_value(graph, graph.outputs, name);
  if (output.valid()) return output;
  std::vector<std::string_view> names;
  for (ValueId id : graph.outputs) names.push_back(graph[id].name);
  throw Error("output '{}': the model has none of this name, the nearest is '{}'", name, nearest(name, names));
}

bool is_of_classes(LossKind kind) {
  return kind == LossKind::CrossEntropy || kind == LossKind::NegativeLogLikelihood;
}

Type type_of_target(LossKind kind, const Type& output, const std::string& name) {
  if (!output.is_static() || !is_float(output.element)) {
    throw Error("output '{}': {} found, a tensor of floats of known size needed for a loss", name, to_string(output));
  }
  if (!is_of_classes(kind)) return output;
  if (output.rank() < 2) {
    throw Error("output '{}': {} found, [samples, classes, ...] needed for this loss", name, to_string(output));
  }
  Type labels = Type::tensor(DataType::Int64, output.dims);
  labels.dims.erase(labels.dims.begin() + 1);
  return labels;
}

ValueId target_input(Builder& builder, const Type& type, const std::string& name) {
  const ValueId known = find_value(builder.graph(), builder.graph().inputs, name);
  if (!known.valid()) return builder.input(name, type);
  if (builder.type(known) == type) return known;
  throw Error("target '{}': the model's input is {}, {} needed", name, to_string(builder.type(known)), to_string(type));
}

// A probability of zero would have an infinite loss.
ValueId log_of(Builder& builder, ValueId probabilities) {
  const bool is_half = builder.type(probabilities).element == DataType::Float16;
  const ValueId least =
      builder.constant(is_half ? Tensor::scalar(Float16(6.104e-5F)) : Tensor::scalar(1e-7F), "least_probability");
  return builder.op("Log", {builder.op("Max", {probabilities, least})});
}

ValueId loss_of(Builder& builder, LossKind kind, ValueId output, ValueId target) {
  switch (kind) {
    case LossKind::CrossEntropy:
      return builder.op("SoftmaxCrossEntropyLoss", {output, target});
    case LossKind::NegativeLogLikelihood:
      return builder.op("NegativeLogLikelihoodLoss", {log_of(builder, output), target});
    case LossKind::MeanSquaredError: {
      const ValueId difference = builder.op("Sub", {output, target});
      return builder.op("ReduceMean", {builder.op("Mul", {difference, difference})}, {{"keepdims", std::int64_t{0}}});
    }
    case LossKind::L1:
      return builder.op("ReduceMean", {builder.op("Abs", {builder.op("Sub", {output, target})})},
                        {{"keepdims", std::int64_t{0}}});
  }
  IR_CHECK(false);
}

}  // namespace

std::string add_loss(Graph& graph, LossKind kind, const std::string& output, const std::string& target) {
  const ValueId of = find_output(graph, output);
  const Type type = type_of_target(kind, graph[of].type, output);
  const OpId maker = producers(graph)[static_cast<std::size_t>(of.index)];
  const std::vector<Attribute> place = maker.valid() ? place_of(graph[maker]) : std::vector<Attribute>();
  const std::size_t before = graph.ops.size();
  Builder builder(graph);
  const bool is_taken = std::any_of(graph.values.begin(), graph.values.end(),
                                    [](const Value& value) { return value.name == "loss"; });
  const std::string name = is_taken ? graph.fresh_name("loss") : "loss";
  const ValueId loss = loss_of(builder, kind, of, target_input(builder, type, target));
  graph[loss].name = name;
  builder.output(loss);
  for (std::size_t i = before; i < graph.ops.size(); ++i) {
    Op& op = graph.ops[i];
    if (op.name.empty()) op.name = fmt::format("{}/{}", name, op.spec->name);
    for (const Attribute& attribute : place) set_attribute(op, attribute.name, attribute.value);
  }
  return name;
}

}  // namespace podium::ir
