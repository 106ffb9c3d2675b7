#include "executor/session/trainable.h"

#include <algorithm>
#include <optional>

#include "executor/kernels/kernel.h"
#include "executor/lower/lower.h"
#include "executor/lower/strategies/batch_serialise.h"
#include "executor/session/check_options.h"
#include "executor/session/model_weights.h"
#include "executor/session/place_model.h"
#include "ir/nearest.h"

namespace podium {
namespace {

bool has_value(const ir::Graph& graph, std::string_view name) {
  return std::any_of(graph.values.begin(), graph.values.end(),
                     [&](const ir::Value& value) { return value.name == name; });
}

// Anchors of derivatives and updates are tensors only once there are some.
Strategy with_known_anchors(Strategy options, const ir::Graph& graph) {
  std::erase_if(options.anchors, [&](const auto& anchor) { return !has_value(graph, anchor.first); });
  return options;
}

std::vector<std::string> gradients_asked_for(const Strategy& options) {
  constexpr std::string_view kGradient = "Gradient___";
  std::vector<std::string> names;
  for (const auto& [name, anchor] : options.anchors) {
    if (name.starts_with(kGradient)) names.push_back(name.substr(kGradient.size()));
  }
  return names;
}

void check_has_loss(const ir::Graph& graph, const std::string& loss) {
  if (has_value(graph, loss)) return;
  std::vector<std::string_view> names;
  for (const ir::Value& value : graph.values) names.push_back(value.name);
  throw Error("loss '{}': the model has no tensor of this name, the nearest is '{}'", loss,
              ir::nearest(loss, names));
}

// Locations of what only a graph that trains has, such as accumulators.
Strategy without_known_overrides(Strategy options, const ir::Graph& graph) {
  std::erase_if(options.location_overrides, [&](const auto& one) { return has_value(graph, one.first); });
  return options;
}

void check_weights(const std::vector<std::string>& wanted, const ir::Training& forward) {
  for (const std::string& name : wanted) {
    const auto is_it = [&](const ir::Variable& weight) { return forward.graph[weight.value].name == name; };
    if (std::any_of(forward.variables.begin(), forward.variables.end(), is_it)) continue;
    throw Error("weight '{}': the model has no initializer of floats of this name", name);
  }
}

void note_untrained(const ir::Training& training, Notes& notes) {
  if (training.untrained.empty()) return;
  notes.push_back(fmt::format(
      "{} initializers are not trained: {}{}; {}", training.untrained.size(),
      training.graph[training.untrained[0]].name, training.untrained.size() > 1 ? ", ..." : "",
      training.why_untrained.empty() ? "the loss does not depend on them" : training.why_untrained));
}

std::optional<ir::AutomaticLossScaling> scaling_of(const LossScaling& scaling) {
  if (!scaling.automatic) return std::nullopt;
  return ir::AutomaticLossScaling{.bin_edge = scaling.bin_edge,
                                  .threshold = scaling.upper_proportion,
                                  .update_period = scaling.period,
                                  .tracked = static_cast<ir::TrackedGradients>(scaling.tracking),
                                  .tensors = scaling.tensors};
}

ir::Training take_forward(importer::Model model, const std::vector<std::string>& wanted) {
  const std::vector<std::string> names = wanted.empty() ? weight_names(model) : wanted;
  if (names.empty()) throw Error("the model has no initializer of floats that could be trained");
  ir::Training forward = with_variables(std::move(model.graph), names);
  if (forward.variables.size() < names.size()) check_weights(names, forward);
  return forward;
}

// Passes leave the loss, anchors and what has a gradient by its name their names.
void optimize_for(ir::Training& forward, const Strategy& strategy, const ir::TrainingRequest& request) {
  Strategy known = with_known_anchors(strategy, forward.graph);
  known.anchors.try_emplace(request.loss);
  lower::add_anchors(forward.graph, known);
  const std::size_t outputs = forward.graph.outputs.size();
  Strategy kept;
  for (const std::string& name : request.gradients_of) kept.anchors.try_emplace(name);
  lower::add_anchors(forward.graph, with_known_anchors(kept, forward.graph));
  optimize(forward);
  forward.graph.outputs.resize(outputs);
}

}  // namespace

Trainable make_trainable(importer::Model model, const TrainingOptions& options,
                         const ir::Contributions& contributions, const Strategy& strategy) {
  check_has_loss(model.graph, options.loss);
  Trainable made{.metadata = model.info.metadata,
                 .request = {.loss = options.loss,
                             .optimizer = options.optimizer,
                             .contributions = contributions,
                             .automatic_loss_scaling = scaling_of(strategy.loss_scaling),
                             .gradients_of = gradients_asked_for(strategy)},
                 .unread = unread_constants(model.graph),
                 .added = without_known_overrides(strategy, model.graph)};
  made.forward = take_forward(std::move(model), options.weights);
  optimize_for(made.forward, strategy, made.request);
  made.request.weights = made.forward.variables;
  made.request.saved = saved_states(made.forward, made.unread);
  return made;
}

Placed make_trained(Trainable trainable, CheckedOptions& checked) {
  const Strategy& strategy = checked.strategy;
  ir::Training& forward = trainable.forward;
  const ir::TrainingRequest& request = trainable.request;
  TrainingMemory memory;
  if (strategy.virtual_graph_mode == VirtualGraphMode::Auto) {
    memory = memory_of_training(ir::make_training(forward.graph, request), forward.graph.ops.size(), strategy,
                                checked.device);
  }
  place_forward(forward, trainable.metadata, strategy, checked.device, memory);
  std::optional<ir::BatchSplit> slice;
  if (request.contributions.slices > 1) {
    slice = lower::split_to_train(forward.graph, forward.variables, strategy);
    forward.graph = slice->graph;
  }
  ir::Training training = ir::make_training(std::move(forward.graph), request);
  note_unused_states(trainable.unread, training, request.optimizer, checked.notes);
  note_untrained(training, checked.notes);
  check_overrides(trainable.added, training.graph);
  lower::add_anchors(training.graph, strategy);
  if (slice) ir::set_slices(training, *slice, request.contributions.slices);
  ir::optimize(training, {.evaluate = kernels::evaluate});
  ir::Placement placement = place_training(training.graph, trainable.metadata, strategy);
  return {std::move(training), std::move(placement)};
}

}  // namespace podium
