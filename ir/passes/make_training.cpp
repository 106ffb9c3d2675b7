// A graph that trains is made in three steps: the loss, the weights and the statistics that ops keep are
// found in the graph; differentiate_loss appends the derivatives (Derivatives), and weights that no gradient
// reaches become constants; then the others get accumulation, clipping and the updates of the optimizer.
// Derivatives get their places between the last two.
#include "ir/passes/make_training.h"

#include <algorithm>
#include <set>

#include "ir/gradients/differentiate.h"
#include "ir/infer.h"
#include "ir/passes/accumulate.h"
#include "ir/passes/clip_norm.h"
#include "ir/passes/differentiate_loss.h"
#include "ir/passes/find_cut.h"
#include "ir/passes/optimize.h"
#include "ir/passes/weight_update.h"

namespace podium::ir {
namespace {

// An initializer that the request asks to train.
struct Weight {
  const Variable* variable;
  bool is_learnt = true;  ///< else it is a statistic
  ValueId gradient = kNoValue;
};

// Inputs that ops keep up themselves, each with the value that it becomes; kNoValue where it stays as it is.
using Statistics = std::map<ValueId, ValueId>;

// The place of the loss in the outputs, to which it is added where it is none yet.
std::size_t find_loss(Graph& graph, const std::string& name) {
  const ValueId loss = find_value(graph, name);
  if (!loss.valid()) throw Error("there is no value '{}' to be the loss", name);
  const Type& type = graph[loss].type;
  if (!type.is_static() || type.element_count() != 1 || !is_float(type.element)) {
    throw Error("loss '{}' is {}, one number needed", name, to_string(type));
  }
  const auto output = std::find(graph.outputs.begin(), graph.outputs.end(), loss);
  const std::size_t place = output - graph.outputs.begin();
  if (output == graph.outputs.end()) graph.outputs.push_back(loss);
  return place;
}

// What BatchNormalization reads beside scale and bias is not learnt; in training mode the op updates it.
Statistics find_statistics(Graph& graph) {
  Statistics statistics;
  for (Op& op : graph.ops) {
    if (!op.is("BatchNormalization")) continue;
    if (attribute<std::int64_t>(op, "training_mode") != 0) op.outputs.resize(3);
    for (std::size_t i = 1; i <= 2; ++i) {
      const ValueId before = op.inputs[i + 2];
      ValueId& after = statistics[before];
      if (i >= op.outputs.size()) continue;
      if (!op.outputs[i].valid()) {
        const Value like = graph[before];
        op.outputs[i] = graph.add_value(graph.fresh_name(like.name), like.type);
      }
      after = op.outputs[i];
    }
  }
  return statistics;
}

// The weights are in the order of the request.
std::vector<Weight> weights_of(const TrainingRequest& request, const Statistics& statistics) {
  std::vector<Weight> weights;
  for (const Variable& variable : request.weights) {
    weights.push_back({.variable = &variable, .is_learnt = !statistics.contains(variable.value)});
  }
  return weights;
}

Derivatives differentiate_by(std::vector<Weight>& weights, Training& training,
                             const TrainingRequest& request) {
  UpdateBuilder builder(training, request.optimizer, request.contributions, request.saved);
  std::vector<ValueId> xs;
  for (const Weight& weight : weights) {
    if (weight.is_learnt) xs.push_back(weight.variable->value);
  }
  Derivatives derivatives = differentiate_loss(builder, training.graph.outputs[training.loss], xs, request);
  std::size_t next = 0;
  for (Weight& weight : weights) {
    if (weight.is_learnt) weight.gradient = derivatives.gradients[next++];
  }
  return derivatives;
}

// The weight becomes a constant again, as it was before take_weights.
void make_constant(Graph& graph, const Variable& weight) {
  if (weight.initial.defined()) graph[weight.value].constant = weight.initial;
  graph[weight.value].data_left_out = !weight.initial.defined();
  std::erase(graph.inputs, weight.value);
}

void find_why_untrained(Training& training) {
  const Graph& graph = training.graph;
  const OpId cut = find_cut(graph, graph.outputs[training.loss], training.untrained);
  if (!cut.valid()) return;
  training.why_untrained = fmt::format("nothing flows back through {}: {}", graph.describe(graph[cut]),
                                       graph[cut].spec->no_gradient);
}

// Weights that a gradient reaches and statistics that ops update are variables; the others become constants.
void keep_variables(Training& training, const std::vector<Weight>& weights, const Statistics& statistics,
                    const std::string& loss) {
  for (const Weight& weight : weights) {
    const auto statistic = statistics.find(weight.variable->value);
    const bool is_updated = statistic != statistics.end() && statistic->second.valid();
    if (weight.gradient.valid() || is_updated) {
      training.variables.push_back(*weight.variable);
      if (is_updated) training.variables.back().kind = VariableKind::Statistic;
      continue;
    }
    if (weight.is_learnt) training.untrained.push_back(weight.variable->value);
    make_constant(training.graph, *weight.variable);
  }
  find_why_untrained(training);
  if (std::any_of(weights.begin(), weights.end(), [](const Weight& one) { return one.gradient.valid(); }))
    return;
  const std::string& why = training.why_untrained;
  throw Error("loss '{}' does not depend on any weight{}", loss,
              why.empty() ? "" : fmt::format(" that it could train: {}", why));
}

std::vector<std::string> names_of_weights(const Training& training) {
  std::vector<std::string> names;
  for (const Variable& variable : training.variables) {
    if (variable.kind == VariableKind::Weight) names.push_back(training.graph[variable.value].name);
  }
  return names;
}

void update_statistics(UpdateBuilder& builder, const Statistics& statistics) {
  const std::vector<Variable>& variables = builder.training.variables;
  std::vector<ValueId> kept;
  for (const Variable& variable : variables) {
    if (variable.kind == VariableKind::Statistic) kept.push_back(variable.value);
  }
  for (ValueId id : kept) builder.update(id, builder.term_of(statistics.at(id)), false);
}

std::vector<WeightUpdate> weight_updates(UpdateBuilder& builder, const std::map<ValueId, ValueId>& gradients,
                                         const GradientPlaces& places) {
  const Graph& graph = builder.training.graph;
  std::vector<WeightUpdate> updates;
  for (const Variable& weight : builder.training.variables) {
    if (weight.kind != VariableKind::Weight) continue;
    updates.push_back({.builder = builder,
                       .name = graph[weight.value].name,
                       .place = places.of.at(weight.value),
                       .weight = weight.value,
                       .gradient = builder.term_of(gradients.at(weight.value)),
                       .type = computed_type(graph[weight.value].type.element),
                       .initial = weight.initial});
  }
  return updates;
}

// The inverse of what automatic loss scaling has multiplied gradients by, where that is not left to the
// states.
std::optional<Term> scale_loss(UpdateBuilder& builder, std::vector<Flow> gradients,
                               const GradientPlaces& places, const TrainingRequest& request) {
  if (!request.automatic_loss_scaling) return std::nullopt;
  const Training& training = builder.training;
  const ValueId loss = training.graph.outputs[training.loss];
  std::erase_if(gradients, [&](const Flow& flow) { return flow.first == loss; });
  update_loss_scale(builder, *request.automatic_loss_scaling, gradients, places.start);
  const bool states_keep_it = builder.optimizer.scaled_state;
  const bool is_outer = states_keep_it || !request.contributions.accumulates();
  const auto scope = builder.at(places.start, is_outer ? Context::Update : Context::MicroBatch);
  const Term factor = loss_scale_factor(builder);
  const Term inverse = factor.like(1) / factor;
  if (!states_keep_it) return inverse;
  builder.inverse_scale = inverse;
  return std::nullopt;
}

void update_all(std::span<WeightUpdate> updates, std::optional<Term> inverse_scale) {
  accumulate(updates, inverse_scale);
  clip_by_norm(updates);
  for (WeightUpdate& update : updates) {
    const auto scope = update.builder.at(update.place, Context::Update);
    update.builder.optimizer.spec->update(update);
  }
}

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

Differentiated append_derivatives(Graph graph, const TrainingRequest& request) {
  Differentiated made{.training = {.graph = std::move(graph)}};
  Training& training = made.training;
  training.reduces_by_mean = request.contributions.reduction == GradientReduction::MeanRunning;
  training.loss = find_loss(training.graph, request.loss);
  made.statistics = find_statistics(training.graph);
  std::vector<Weight> weights = weights_of(request, made.statistics);
  if (request.automatic_loss_scaling) check(*request.automatic_loss_scaling, request.optimizer);
  made.derivatives = differentiate_by(weights, training, request);
  keep_variables(training, weights, made.statistics, request.loss);
  for (const Weight& weight : weights) {
    if (weight.gradient.valid()) made.gradients.emplace(weight.variable->value, weight.gradient);
  }
  return made;
}

Training append_updates(Differentiated made, const TrainingRequest& request) {
  Training& training = made.training;
  const GradientPlaces places = place_derivatives(training.graph, made.derivatives);
  put_empty_sequences_first(training.graph, made.derivatives.forward_ops);
  const std::vector<std::string> names = names_of_weights(training);
  const Optimizer optimizer = for_weights(request.optimizer, names);
  check_optimizer(optimizer, names);
  UpdateBuilder builder(training, optimizer, request.contributions, request.saved);
  update_statistics(builder, made.statistics);
  std::vector<WeightUpdate> updates = weight_updates(builder, made.gradients, places);
  update_all(updates, scale_loss(builder, made.derivatives.flows, places, request));
  return std::move(training);
}

Training make_training(Graph graph, const TrainingRequest& request) {
  return append_updates(append_derivatives(std::move(graph), request), request);
}

std::int64_t ops_of_update(const Optimizer& optimizer, const Contributions& contributions, DataType weight) {
  Training training;
  Graph& graph = training.graph;
  const Type type = Type::tensor(weight, {2});
  training.variables = {{.value = graph.add_value("weight", type)}};
  const ValueId gradient = graph.add_value("gradient", type);
  graph.inputs = {training.variables[0].value, gradient};
  const std::map<StateKey, Tensor> saved;
  Optimizer alone = optimizer;
  alone.clip_norms.clear();
  UpdateBuilder builder(training, alone, contributions, saved);
  std::vector<WeightUpdate> update =
      weight_updates(builder, {{graph.inputs[0], gradient}}, {.of = {{graph.inputs[0], {}}}});
  update_all(update, std::nullopt);
  return std::ssize(graph.ops);
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
  training.reduced.assign(graph.outputs.begin() + outputs, graph.outputs.end());
  graph.outputs.resize(outputs);
  training.untrained.clear();
  training.gradients.clear();
  return changed;
}

}  // namespace podium::ir
