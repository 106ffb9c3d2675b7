#include "ir/passes/differentiate_loss.h"

#include <algorithm>
#include <set>

#include "ir/gradients/differentiate.h"
#include "ir/passes/inherit_placement.h"

namespace podium::ir {
namespace {

// The place where the gradient of an input of `reader` is made. The gradient itself may be a tensor that was
// there before, on another processor.
std::vector<Attribute> place_back(const Graph& graph, OpId reader, const WayBack& way) {
  if (!reader.valid()) return {};
  Op op{.spec = graph[reader].spec};
  inherit_placement(graph[reader], op, way);
  return place_of(op);
}

// The gradient of the loss is the loss scale, in the shape of the loss.
Term start_of(UpdateBuilder& builder, const Type& loss, const TrainingRequest& request) {
  Term start = builder.scalar(kLossScale, kNoValue, loss.element);
  if (request.automatic_loss_scaling) start = start * cast_to(loss.element, loss_scale_factor(builder));
  if (loss.rank() > 0) start = start.with("Reshape", start.builder->ints(loss.dims));
  return start;
}

// Values that get a gradient without being learnt.
std::vector<ValueId> asked_for(const Graph& graph, const TrainingRequest& request) {
  std::vector<ValueId> values;
  for (const std::string& name : request.gradients_of) {
    const ValueId id = find_value(graph, name);
    if (!id.valid() || !is_float(graph[id].type.element)) continue;
    const bool is_weight = std::any_of(request.weights.begin(), request.weights.end(),
                                       [&](const Variable& weight) { return weight.value == id; });
    if (!is_weight) values.push_back(id);
  }
  return values;
}

// Gives gradients their names, where the model has no value of that name.
class GradientNames {
 public:
  explicit GradientNames(Training& training)
      : training_(training), values_(std::ssize(training.graph.values)) {
    for (const Value& value : training.graph.values) taken_.insert(value.name);
  }

  // Each new tensor is called after the first value whose gradient it is.
  void name_new(const std::vector<Flow>& flows) {
    std::set<ValueId> named;
    for (const auto& [value, gradient] : flows) {
      const bool is_old = gradient.index < values_ || training_.graph.is_constant(gradient);
      if (!is_old && named.insert(gradient).second) give(gradient, value);
    }
  }

  // A gradient that is asked for may be another tensor too, another value's gradient for one: then it becomes
  // a tensor of its own.
  void name_asked(UpdateBuilder& builder, Derivatives& derivatives, const std::vector<std::string>& names) {
    const std::set<std::string> asked(names.begin(), names.end());
    for (const auto& [value, gradient] : derivatives.flows) {
      const std::string name = name_of(value);
      if (!asked.contains(training_.graph[value].name) || training_.graph[gradient].name == name ||
          taken_.contains(name)) {
        continue;
      }
      give(builder.term_of(gradient).call("Identity"), value);
      derivatives.beside.push_back({derivatives.origins.push_back({}), derivatives.last_readers.at(value)});
    }
  }

 private:
  std::string name_of(ValueId value) const { return std::string(kGradientOf) + training_.graph[value].name; }
  void give(ValueId gradient, ValueId value) {
    const std::string name = name_of(value);
    if (taken_.contains(name)) return;
    training_.graph[gradient].name = name;
    training_.gradients.emplace(gradient, value);
  }

  Training& training_;
  std::int64_t values_;  // of the model
  std::set<std::string> taken_;
};

}  // namespace

ValueId find_value(const Graph& graph, std::string_view name) {
  for (ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return id;
  }
  return kNoValue;
}

Derivatives differentiate_loss(UpdateBuilder& builder, ValueId loss, std::span<const ValueId> xs,
                               const TrainingRequest& request) {
  Graph& graph = builder.training.graph;
  const OpId maker = producers(graph)[loss];
  if (!maker.valid()) throw Error("loss '{}' does not depend on any weight", request.loss);
  Derivatives made{.forward_ops = std::ssize(graph.ops), .loss = maker};
  const FlowInto flow{loss, start_of(builder, Type(graph[loss].type), request)};
  made.origins.resize(made.forward_ops);
  while (made.origins.size() < std::ssize(graph.ops))
    made.beside.push_back({made.origins.push_back({}), maker});
  GradientNames names(builder.training);
  made.gradients = differentiate(graph, std::span(&flow, 1), xs, asked_for(graph, request),
                                 {.zeros = false,
                                  .grown = [&](OpId forward) { made.origins.push_back(forward); },
                                  .flowed =
                                      [&](ValueId value, ValueId gradient, OpId last) {
                                        if (made.last_readers.emplace(value, last).second)
                                          made.flows.emplace_back(value, gradient);
                                      },
                                  .keeps_ids = true});
  made.gradients.resize(xs.size());  // behind them are those that are asked for
  names.name_new(made.flows);
  names.name_asked(builder, made, request.gradients_of);
  IR_CHECK(made.origins.size() == std::ssize(graph.ops), "not every derivative has an origin");
  return made;
}

GradientPlaces place_derivatives(Graph& graph, const Derivatives& derivatives) {
  const WayBack way = way_back(std::span(graph.ops).first(derivatives.forward_ops), graph[derivatives.loss]);
  for (OpId op : derivatives.origins.ids()) {
    const OpId forward = derivatives.origins[op];
    if (forward.valid()) inherit_placement(graph[forward], graph[op], way);
  }
  for (const auto& [op, reader] : derivatives.beside) {
    for (const Attribute& one : place_back(graph, reader, way)) set_attribute(graph[op], one.name, one.value);
  }
  GradientPlaces places{.start = place_back(graph, derivatives.loss, way)};
  for (const auto& [value, reader] : derivatives.last_readers)
    places.of.emplace(value, place_back(graph, reader, way));
  return places;
}

}  // namespace podium::ir
