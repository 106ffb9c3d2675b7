#include "ir/passes/make_training.h"

#include <algorithm>
#include <set>

#include "ir/infer.h"
#include "ir/passes/differentiate.h"
#include "ir/passes/inherit_placement.h"
#include "ir/passes/optimize.h"
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

std::size_t at(ValueId id) { return static_cast<std::size_t>(id.index); }

// Per value, whether it depends on an input of the graph.
std::vector<bool> depends_on_inputs(const Graph& graph) {
  std::vector<bool> depends(graph.values.size(), false);
  for (ValueId id : graph.inputs) depends[at(id)] = true;
  for (const Op& op : graph.ops) {
    const bool reads_one = op.spec->random || std::any_of(op.inputs.begin(), op.inputs.end(), [&](ValueId id) {
      return id.valid() && depends[at(id)];
    });
    for (ValueId id : op.outputs) {
      if (id.valid() && reads_one) depends[at(id)] = true;
    }
  }
  return depends;
}

class TrainingMaker {
 public:
  TrainingMaker(Graph graph, const TrainingRequest& request) : request_(request), training_{.graph = std::move(graph)} {
    for (std::size_t i = 0; i < graph_().values.size(); ++i) {
      values_.emplace(graph_().values[i].name, ValueId{static_cast<std::int32_t>(i)});
    }
  }

  Training make() {
    find_loss();
    training_.reduces_by_mean = request_.contributions.reduction == GradientReduction::MeanRunning;
    UpdateBuilder builder(training_, request_.optimizer, request_.contributions, request_.saved);
    find_weights();
    differentiate_loss(builder);
    drop_untrained();
    check_optimizer(request_.optimizer, trained_names());
    std::vector<WeightUpdate> updates = weight_updates(builder);
    for (WeightUpdate& update : updates) accumulate(update);
    for (WeightUpdate& update : updates) {
      update_by_sgd(update);
      builder.run_at(update.place, true);
    }
    return std::move(training_);
  }

 private:
  struct Weight {
    const Variable* variable;
    ValueId id;
    ValueId gradient;
  };

  Graph& graph_() { return training_.graph; }

  ValueId value_named(std::string_view name) const {
    const auto found = values_.find(std::string(name));
    return found == values_.end() ? kNoValue : found->second;
  }

  void find_loss() {
    loss_ = value_named(request_.loss);
    if (!loss_.valid()) throw Error("there is no value '{}' to be the loss", request_.loss);
    const Type& type = graph_()[loss_].type;
    if (!type.is_static() || type.element_count() != 1 || !is_float(type.element)) {
      throw Error("loss '{}' is {}, one number needed", request_.loss, to_string(type));
    }
    auto& outputs = graph_().outputs;
    const auto found = std::find(outputs.begin(), outputs.end(), loss_);
    training_.loss = static_cast<std::size_t>(found - outputs.begin());
    if (found == outputs.end()) outputs.push_back(loss_);
  }

  void find_weights() {
    for (const Variable& variable : request_.weights) {
      const ValueId id = value_named(variable.name);
      IR_CHECK(id.valid(), "weight '{}' is not in the graph", variable.name);
      weights_.push_back({&variable, id, kNoValue});
    }
  }

  void differentiate_loss(UpdateBuilder& builder) {
    const OpId maker = producers(graph_())[at(loss_)];
    if (!maker.valid()) throw Error("loss '{}' does not depend on any weight", request_.loss);
    const Type type = graph_()[loss_].type;
    const WayBack way = way_back(graph_(), graph_()[maker]);
    Term start = builder.scalar("lossScaling", "", type.element);
    if (type.rank() > 0) start = start.with("Reshape", start.context->ints(type.dims));
    builder.run_at(place_of(graph_()[maker]), false);
    std::vector<ValueId> xs;
    for (const Weight& weight : weights_) xs.push_back(weight.id);
    const auto inherit = [&](const Op& forward, Op& grown) { inherit_placement(forward, grown, way); };
    const std::vector<ValueId> gradients =
        differentiate(graph_(), loss_, xs, {.start = start, .zeros = false, .grown = inherit});
    builder.run_at({}, false);  // their places are inherited
    for (std::size_t i = 0; i < gradients.size(); ++i) weights_[i].gradient = gradients[i];
  }

  // Weights without a gradient hold what they held before they were inputs.
  void drop_untrained() {
    std::set<ValueId> dropped;
    for (const Weight& weight : weights_) {
      if (weight.gradient.valid()) continue;
      training_.untrained.push_back(weight.variable->name);
      const Tensor& held = weight.variable->initial;
      if (held.defined()) graph_()[weight.id].constant = held;
      graph_()[weight.id].data_left_out = !held.defined();
      dropped.insert(weight.id);
    }
    std::erase_if(weights_, [](const Weight& weight) { return !weight.gradient.valid(); });
    std::erase_if(graph_().inputs, [&](ValueId id) { return dropped.contains(id); });
    if (weights_.empty()) throw Error("loss '{}' does not depend on any weight", request_.loss);
    for (const Weight& weight : weights_) training_.variables.push_back(*weight.variable);
  }

  std::vector<std::string> trained_names() const {
    std::vector<std::string> names;
    for (const Weight& weight : weights_) names.push_back(weight.variable->name);
    return names;
  }

  std::vector<WeightUpdate> weight_updates(UpdateBuilder& builder) {
    const std::vector<OpId> makers = producers(graph_());
    const std::vector<bool> depends = depends_on_inputs(graph_());
    std::vector<WeightUpdate> updates;
    for (const Weight& weight : weights_) {
      const OpId maker = makers[at(weight.gradient)];
      const std::vector<Attribute> place = maker.valid() ? place_of(graph_()[maker]) : std::vector<Attribute>();
      const DataType element = graph_()[weight.id].type.element;
      const bool is_wider = element == DataType::Float16 && request_.optimizer.state_type == DataType::Float;
      updates.push_back({builder, weight.variable->name, place, weight.id, builder.term_of(weight.gradient),
                         is_wider ? DataType::Float : element, weight.variable->initial});
      if (!depends[at(weight.gradient)]) constant_gradients_.insert(weight.gradient);
    }
    return updates;
  }

  void accumulate(WeightUpdate& update) {
    if (accumulates(update)) {
      if (accumulates_into_velocity(update)) {
        accumulate_into_velocity(update);
      } else {
        add_up(update);
      }
      update.builder.run_at(update.place, false);
    } else {
      reduce(update);
    }
    update.gradient = cast_to(update.type, update.gradient);
    update.builder.run_at(update.place, true);
  }

  bool accumulates(const WeightUpdate&) const { return request_.contributions.accumulation > 1; }

  // The gradient itself is reduced, unless every replica knows it beforehand.
  void reduce(WeightUpdate& update) {
    if (!constant_gradients_.contains(update.gradient)) {
      const std::string& name = graph_()[update.gradient].name;
      if (reduced_.insert(name).second) training_.reduced.push_back(name);
    } else if (!training_.reduces_by_mean) {
      update.gradient = update.gradient * static_cast<double>(request_.contributions.replicas);
    }
  }

  void add_up(WeightUpdate& update) {
    UpdateBuilder& builder = update.builder;
    const std::string name = "Accum___" + update.name;
    const Type& weight = graph_()[update.weight].type;
    const DataType type = request_.optimizer.accumulator_type.value_or(weight.element);
    const Tensor zeros = filled(type, weight.dims, 0);
    const Term accumulator =
        builder.variable({.name = name, .kind = VariableKind::Accumulator, .initial = zeros, .weight = update.name});
    const Term gradient = cast_to(type, update.gradient);
    if (training_.reduces_by_mean) {
      const Term count = counter(update, type);
      const Term shares = count + 1.0;
      builder.update(name, accumulator * (count / shares) + gradient / shares, false);
    } else {
      builder.update(name, accumulator + gradient, false);
      builder.update(name, builder.term_of(accumulator.context->builder.constant(zeros)), true);
    }
    training_.reduced.push_back(name);
    update.gradient = accumulator;
  }

  // How many micro-batches there were before this one; one counter where ops run together.
  Term counter(const WeightUpdate& update, DataType type) {
    std::string name = "Counter___";
    for (const Attribute& attribute : update.place) {
      const auto* number = std::get_if<std::int64_t>(&attribute.value);
      if (attribute.name == "__ipu_number") name += fmt::format("_VGraph{}", *number);
      if (attribute.name == "__pipeline_stage") name += fmt::format("_PStage{}", *number);
    }
    UpdateBuilder& builder = update.builder;
    const Tensor zero = filled(DataType::Float, {}, 0);
    const bool is_new = !counters_.contains(name);
    const Term count = builder.variable({.name = name, .kind = VariableKind::Accumulator, .initial = zero});
    if (is_new) {
      counters_.insert(name);
      builder.update(name, count + 1.0, false);
      builder.update(name, builder.number(0, DataType::Float), true);
    }
    return cast_to(type, count);
  }

  const TrainingRequest& request_;
  Training training_;
  std::map<std::string, ValueId> values_;  // of the graph as it came
  ValueId loss_;
  std::vector<Weight> weights_;
  std::set<ValueId> constant_gradients_;
  std::set<std::string> reduced_;
  std::set<std::string> counters_;
};

}  // namespace

std::vector<Variable> take_weights(Graph& graph, const std::vector<std::string>& names) {
  const std::set<std::string> wanted(names.begin(), names.end());
  const std::vector<int> uses = use_counts(graph);
  std::vector<Variable> weights;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    Value& value = graph.values[i];
    const bool has_value = value.constant || value.data_left_out;
    if (!has_value || !is_float(value.type.element)) continue;
    if (wanted.empty() ? uses[i] == 0 : !wanted.contains(value.name)) continue;
    weights.push_back({.name = value.name, .initial = value.constant.value_or(Tensor())});
    value.constant.reset();
    value.data_left_out = false;
    graph.inputs.push_back({static_cast<std::int32_t>(i)});
  }
  return weights;
}

Training make_training(Graph graph, const TrainingRequest& request) {
  return TrainingMaker(std::move(graph), request).make();
}

bool optimize(Training& training, const InferOptions& options) {
  std::vector<ValueId>& outputs = training.graph.outputs;
  const std::size_t count = outputs.size();
  std::map<std::string, ValueId> values;
  for (std::size_t i = 0; i < training.graph.values.size(); ++i) {
    values.emplace(training.graph.values[i].name, ValueId{static_cast<std::int32_t>(i)});
  }
  for (const std::string& name : training.reduced) outputs.push_back(values.at(name));
  const bool changed = optimize(training.graph, options);
  outputs.resize(count);
  return changed;
}

}  // namespace podium::ir
