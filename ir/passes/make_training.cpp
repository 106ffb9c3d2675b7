#include "ir/passes/make_training.h"

#include <algorithm>
#include <set>

#include "ir/gradients/differentiate.h"
#include "ir/infer.h"
#include "ir/passes/accumulate.h"
#include "ir/passes/clip_norm.h"
#include "ir/passes/find_cut.h"
#include "ir/passes/inherit_placement.h"
#include "ir/passes/optimize.h"
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

constexpr std::string_view kGradientOf = "Gradient___";

// The first value of a name; kNoValue when there is none.
ValueId find_value(const Graph& graph, std::string_view name) {
  for (ValueId id : graph.value_ids()) {
    if (graph[id].name == name) return id;
  }
  return kNoValue;
}

std::set<std::string> names_of_values(const Graph& graph) {
  std::set<std::string> names;
  for (const Value& value : graph.values) names.insert(value.name);
  return names;
}

class TrainingMaker {
 public:
  TrainingMaker(Graph graph, const TrainingRequest& request)
      : request_(request),
        optimizer_(request.optimizer),
        training_{.graph = std::move(graph)},
        names_(names_of_values(graph_)) {}

  Training make() {
    find_loss();
    find_statistics();
    find_weights();
    training_.reduces_by_mean = request_.contributions.reduction == GradientReduction::MeanRunning;
    if (request_.automatic_loss_scaling) check(*request_.automatic_loss_scaling, request_.optimizer);
    UpdateBuilder builder(training_, optimizer_, request_.contributions, request_.saved);
    differentiate_loss(builder);
    sort_weights();
    optimizer_ = for_weights(request_.optimizer, trained_names());
    check_optimizer(optimizer_, trained_names());
    update_statistics(builder);
    append_updates(builder);
    return std::move(training_);
  }

 private:
  struct Weight {
    const Variable* variable;
    ValueId id = variable->value;
    ValueId gradient = kNoValue;
  };

  void find_loss() {
    loss_ = find_value(graph_, request_.loss);
    if (!loss_.valid()) throw Error("there is no value '{}' to be the loss", request_.loss);
    const Type& type = graph_[loss_].type;
    if (!type.is_static() || type.element_count() != 1 || !is_float(type.element)) {
      throw Error("loss '{}' is {}, one number needed", request_.loss, to_string(type));
    }
    const auto output = std::find(graph_.outputs.begin(), graph_.outputs.end(), loss_);
    training_.loss = static_cast<std::size_t>(output - graph_.outputs.begin());
    if (output == graph_.outputs.end()) graph_.outputs.push_back(loss_);
  }

  // What BatchNormalization reads beside scale and bias is not learnt; in training mode the op updates it.
  void find_statistics() {
    for (Op& op : graph_.ops) {
      if (!op.is("BatchNormalization")) continue;
      if (attribute<std::int64_t>(op, "training_mode") != 0) op.outputs.resize(3);
      for (std::size_t i = 1; i <= 2; ++i) {
        const ValueId before = op.inputs[i + 2];
        ValueId& after = statistics_[before];
        if (i >= op.outputs.size()) continue;
        if (!op.outputs[i].valid()) {
          const Value like = graph_[before];
          op.outputs[i] = graph_.add_value(graph_.fresh_name(like.name), like.type);
        }
        after = op.outputs[i];
      }
    }
  }

  void find_weights() {
    for (const Variable& variable : request_.weights) weights_.push_back({.variable = &variable});
  }

  // Of the loss: its scale.
  Term first_gradient(UpdateBuilder& builder, const Type& type) {
    const auto scope = builder.at(start_place_, Context::MicroBatch);
    Term start = builder.scalar(kLossScale, kNoValue, type.element);
    if (request_.automatic_loss_scaling) start = start * cast_to(type.element, loss_scale_factor(builder));
    return type.rank() > 0 ? start.with("Reshape", start.context->ints(type.dims)) : start;
  }

  void differentiate_loss(UpdateBuilder& builder) {
    const OpId maker = producers(graph_)[loss_.index];
    if (!maker.valid()) throw Error("loss '{}' does not depend on any weight", request_.loss);
    const Type type = graph_[loss_].type;
    const WayBack way = way_back(graph_, graph_[maker]);
    Op start_op{.spec = graph_[maker].spec};
    inherit_placement(graph_[maker], start_op, way);
    start_place_ = place_of(start_op);
    const Term start = first_gradient(builder, type);
    std::vector<ValueId> xs;
    for (const Weight& weight : weights_) {
      if (!statistics_.contains(weight.id)) xs.push_back(weight.id);
    }
    const std::size_t forward_values = graph_.values.size();
    const FlowInto flow{loss_, start};
    const std::vector<ValueId> gradients =
        differentiate(graph_, std::span(&flow, 1), xs, asked_for(),
                      {.zeros = false,
                       .grown = [&](const Op& forward, Op& grown) { inherit_placement(forward, grown, way); },
                       .flowed =
                           [&](ValueId value, ValueId gradient, OpId last) {
                             if (places_back_.emplace(value, place_back(last, way)).second)
                               flows_.emplace_back(value, gradient);
                           }});
    name_gradients(forward_values);
    give_gradients_their_names(builder);
    std::size_t next = 0;
    for (Weight& weight : weights_) {
      if (!statistics_.contains(weight.id)) weight.gradient = gradients[next++];
    }
  }

  // What gets a gradient without being learnt.
  std::vector<ValueId> asked_for() const {
    std::vector<ValueId> values;
    for (const std::string& name : request_.gradients_of) {
      const ValueId id = find_value(graph_, name);
      if (!id.valid() || !is_float(graph_[id].type.element)) continue;
      const bool is_weight = std::any_of(weights_.begin(), weights_.end(),
                                         [&](const Weight& weight) { return weight.id == id; });
      if (!is_weight) values.push_back(id);
    }
    return values;
  }

  // Where the gradient of what an op reads is made. The gradient itself may be a tensor that was there
  // before, on another processor.
  std::vector<Attribute> place_back(OpId reader, const WayBack& way) const {
    if (!reader.valid()) return {};
    Op op{.spec = graph_[reader].spec};
    inherit_placement(graph_[reader], op, way);
    return place_of(op);
  }

  void name_gradients(std::size_t forward_values) {
    std::set<ValueId> named;
    for (const auto& [value, gradient] : flows_) {
      const bool is_old =
          static_cast<std::size_t>(gradient.index) < forward_values || graph_.is_constant(gradient);
      if (is_old || !named.insert(gradient).second) continue;
      name_gradient(gradient, value);
    }
  }

  void name_gradient(ValueId gradient, ValueId value) {
    std::string name = std::string(kGradientOf) + graph_[value].name;
    if (names_.contains(name)) return;
    graph_[gradient].name = std::move(name);
    training_.gradients.emplace(gradient, value);
  }

  // A gradient that is asked for may be another tensor too, another value's gradient for one: then it becomes
  // a tensor of its own.
  void give_gradients_their_names(UpdateBuilder& builder) {
    const std::set<std::string> asked(request_.gradients_of.begin(), request_.gradients_of.end());
    for (const auto& [value, gradient] : flows_) {
      const std::string name = std::string(kGradientOf) + graph_[value].name;
      if (!asked.contains(graph_[value].name) || graph_[gradient].name == name || names_.contains(name))
        continue;
      const auto scope = builder.at(places_back_.at(value), Context::MicroBatch);
      name_gradient(builder.term_of(gradient).call("Identity"), value);
    }
  }

  // Weights without a gradient hold what they held before they were inputs, unless they are statistics.
  void sort_weights() {
    std::set<ValueId> dropped;
    bool any = false;
    for (const Weight& weight : weights_) {
      const auto statistic = statistics_.find(weight.id);
      const bool is_updated = statistic != statistics_.end() && statistic->second.valid();
      any = any || weight.gradient.valid();
      if (weight.gradient.valid() || is_updated) {
        training_.variables.push_back(*weight.variable);
        if (is_updated) training_.variables.back().kind = VariableKind::Statistic;
        continue;
      }
      if (statistic == statistics_.end()) training_.untrained.push_back(weight.id);
      const Tensor& held = weight.variable->initial;
      if (held.defined()) graph_[weight.id].constant = held;
      graph_[weight.id].data_left_out = !held.defined();
      dropped.insert(weight.id);
    }
    std::erase_if(graph_.inputs, [&](ValueId id) { return dropped.contains(id); });
    find_why_untrained();
    if (any) return;
    const std::string& why = training_.why_untrained;
    throw Error("loss '{}' does not depend on any weight{}", request_.loss,
                why.empty() ? "" : fmt::format(" that it could train: {}", why));
  }

  void find_why_untrained() {
    std::vector<ValueId> untrained;
    for (const Weight& weight : weights_) {
      if (!weight.gradient.valid() && !statistics_.contains(weight.id)) untrained.push_back(weight.id);
    }
    const OpId cut = find_cut(graph_, loss_, untrained);
    if (!cut.valid()) return;
    training_.why_untrained = fmt::format("nothing flows back through {}: {}", graph_.describe(graph_[cut]),
                                          graph_[cut].spec->no_gradient);
  }

  std::vector<std::string> trained_names() const {
    std::vector<std::string> names;
    for (const Weight& weight : weights_) {
      if (weight.gradient.valid()) names.push_back(graph_[weight.id].name);
    }
    return names;
  }

  void update_statistics(UpdateBuilder& builder) {
    for (const Weight& weight : weights_) {
      const auto found = statistics_.find(weight.id);
      if (found == statistics_.end() || !found->second.valid()) continue;
      builder.update(weight.id, builder.term_of(found->second), false);
    }
  }

  void append_updates(UpdateBuilder& builder) {
    std::vector<WeightUpdate> updates = weight_updates(builder);
    std::optional<Term> inverse_scale;
    if (request_.automatic_loss_scaling) {
      std::vector<Flow> gradients = flows_;
      std::erase_if(gradients, [&](const Flow& flow) { return flow.first == loss_; });
      update_loss_scale(builder, *request_.automatic_loss_scaling, gradients, start_place_);
      const bool states_keep_it = optimizer_.scaled_state;
      const bool is_outer = states_keep_it || !request_.contributions.accumulates();
      const auto scope = builder.at(start_place_, is_outer ? Context::Update : Context::MicroBatch);
      const Term factor = loss_scale_factor(builder);
      (states_keep_it ? builder.inverse_scale : inverse_scale) = factor.like(1) / factor;
    }
    accumulate(updates, inverse_scale);
    clip_by_norm(updates);
    for (WeightUpdate& update : updates) {
      const auto scope = builder.at(update.place, Context::Update);
      optimizer_.spec->update(update);
    }
  }

  std::vector<WeightUpdate> weight_updates(UpdateBuilder& builder) {
    std::vector<WeightUpdate> updates;
    for (const Weight& weight : weights_) {
      if (!weight.gradient.valid()) continue;
      updates.push_back({.builder = builder,
                         .name = graph_[weight.id].name,
                         .place = places_back_.at(weight.id),
                         .weight = weight.id,
                         .gradient = builder.term_of(weight.gradient),
                         .type = computed_type(graph_[weight.id].type.element),
                         .initial = weight.variable->initial});
    }
    return updates;
  }

  const TrainingRequest& request_;
  Optimizer optimizer_;  // without globs once it is known what is trained
  Training training_;
  Graph& graph_ = training_.graph;
  std::set<std::string> names_;  // of the values of the graph as it came
  ValueId loss_;
  std::vector<Attribute> start_place_;
  std::vector<Weight> weights_;
  std::map<ValueId, ValueId> statistics_;  // to what the op makes of them, if anything
  std::vector<Flow> flows_;
  std::map<ValueId, std::vector<Attribute>> places_back_;  // of flows_: where their gradients are made
};

}  // namespace

std::vector<Variable> take_weights(Graph& graph, const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  const auto uses = use_counts(graph);
  std::vector<Variable> weights;
  for (ValueId id : graph.value_ids()) {
    Value& value = graph[id];
    const bool has_value = value.constant || value.data_left_out;
    if (!has_value || !is_float(value.type.element)) continue;
    if (wanted.empty() ? uses[id] == 0 : !wanted.contains(value.name)) continue;
    weights.push_back({.value = id, .initial = value.constant.value_or(Tensor())});
    value.constant.reset();
    value.data_left_out = false;
    graph.inputs.push_back(id);
  }
  return weights;
}

Training make_training(Graph graph, const TrainingRequest& request) {
  return TrainingMaker(std::move(graph), request).make();
}

bool optimize(Training& training, const InferOptions& options) {
  Graph& graph = training.graph;
  const std::vector<ValueId> inputs = graph.inputs;
  const std::int64_t values = std::ssize(graph.values);
  const std::size_t outputs = graph.outputs.size();
  graph.outputs.insert(graph.outputs.end(), training.reduced.begin(), training.reduced.end());
  const bool changed = optimize(graph, options);
  // Inputs and outputs have kept their places, whatever their ids are now.
  IdMap<ValueId, ValueId> renumbered(values);
  for (std::size_t i = 0; i < inputs.size(); ++i) renumbered[inputs[i]] = graph.inputs[i];
  const auto renumber = [&](ValueId& id) {
    if (id.valid()) id = renumbered[id];
  };
  for (Variable& variable : training.variables) {
    renumber(variable.value);
    renumber(variable.weight);
  }
  for (Update& update : training.updates) renumber(update.variable);
  for (HyperParameter& one : training.hyper_parameters) {
    renumber(one.value);
    renumber(one.weight);
  }
  training.reduced.assign(graph.outputs.begin() + static_cast<std::ptrdiff_t>(outputs), graph.outputs.end());
  graph.outputs.resize(outputs);
  training.untrained.clear();
  training.gradients.clear();
  return changed;
}

}  // namespace podium::ir
