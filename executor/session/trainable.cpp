// Which initializers are trained (names and globs, or the rule of model_weights.h), then the forward graph
// after the passes with these as variables, then the whole that trains: derivatives appended, forward ops
// placed, in mode Auto by what derivatives read, updates appended, optimized, placed once more. What the user
// should hear of it becomes a note.
#include "executor/session/trainable.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "annotate/check.h"
#include "executor/kernels/tools/kernel.h"
#include "executor/lower/lower.h"
#include "executor/lower/strategies/batch_serialise.h"
#include "executor/session/check_options.h"
#include "executor/session/model_weights.h"
#include "executor/session/place_model.h"
#include "executor/session/tensor_parallel.h"
#include "ir/glob.h"
#include "ir/nearest.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/drop_in_training.h"
#include "ir/passes/number_random_ops.h"
#include "ir/passes/round_operands.h"

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
  std::vector<std::string> names;
  for (const auto& [name, anchor] : options.anchors) {
    if (name.starts_with(ir::kGradientOf)) names.push_back(name.substr(ir::kGradientOf.size()));
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

// Which of `names` a name or a glob fits. Error where none is fit.
std::set<std::string> chosen(const std::string& glob, const std::vector<std::string>& names) {
  std::set<std::string> fitting;
  for (const std::string& name : names) {
    if (name == glob || ir::matches(glob, name)) fitting.insert(name);
  }
  if (!fitting.empty()) return fitting;
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw Error("weight '{}': the model has no initializer of floats of this name, the nearest is '{}'", glob,
              ir::nearest(glob, known));
}

[[noreturn]] void refuse_nothing_to_train() {
  throw Error("the model has no initializer of floats that could be trained");
}

// The initializers that are to be trained, in the order of the model.
std::vector<std::string> trained_names(const importer::Model& model, const TrainingOptions& options,
                                       std::vector<std::string>& numbers) {
  const std::vector<std::string> all = float_initializers(model);
  if (all.empty()) refuse_nothing_to_train();
  std::set<std::string> trained;
  for (const std::string& glob : options.weights) trained.merge(chosen(glob, all));
  if (options.weights.empty()) {
    WeightChoice choice = choose_weights(model);
    trained.insert(choice.weights.begin(), choice.weights.end());
    numbers = std::move(choice.numbers);
    if (trained.empty()) refuse_nothing_to_train();
  }
  for (const std::string& glob : options.frozen) {
    for (const std::string& name : chosen(glob, all)) trained.erase(name);
  }
  if (trained.empty())
    throw Error("all {} weights are frozen, at least one that is trained needed", all.size());
  std::vector<std::string> names;
  std::copy_if(all.begin(), all.end(), std::back_inserter(names),
               [&](const std::string& name) { return trained.contains(name); });
  return names;
}

void note_numbers(const std::vector<std::string>& numbers, Notes& notes) {
  if (numbers.empty()) return;
  notes.push_back(
      fmt::format("{} initializers are taken for numbers of formulas and not trained: {}{} "
                  "(to be named as weights where they are)",
                  numbers.size(), numbers[0], numbers.size() > 1 ? ", ..." : ""));
}

// Squares of gradients lie where float16 has no numbers, unless a loss scale lifts them.
void note_narrow_states(const ir::Optimizer& optimizer, Notes& notes) {
  const bool is_lifted =
      optimizer.scaled_state && (!optimizer.loss_scaling.constant || optimizer.loss_scaling.value > 1);
  if (optimizer.state_type != ir::DataType::Float16 || !optimizer.spec->has_wide_states || is_lifted) return;
  notes.push_back(fmt::format(
      "warning: states of {} in float16: squares of gradients below 2.4e-4 become 0, which makes steps many "
      "times too large; float32 states, or scaled states with a loss scale, keep them",
      name_of(optimizer)));
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
  follow_annotations(forward, strategy);
  forward.graph.outputs.resize(outputs);
}

}  // namespace

Trainable make_trainable(importer::Model model, const TrainingOptions& options,
                         const ir::Contributions& contributions, const Strategy& strategy) {
  check_has_loss(model.graph, options.loss);
  ir::drop_in_training(model.graph);
  ir::number_random_ops(model.graph, ir::Seeded::ForEachMoment);
  Trainable made{.metadata = model.info.metadata,
                 .request = {.loss = options.loss,
                             .optimizer = options.optimizer,
                             .contributions = contributions,
                             .automatic_loss_scaling = scaling_of(strategy.loss_scaling),
                             .gradients_of = gradients_asked_for(strategy)},
                 .sharding = plan_sharding(model, strategy),
                 .unread = unread_constants(model.graph),
                 .added = without_known_overrides(strategy, model.graph)};
  const std::vector<std::string> names = trained_names(model, options, made.numbers);
  made.forward = with_variables(std::move(model.graph), names);
  annotate::check_contexts(made.forward.graph, options.loss);
  optimize_for(made.forward, strategy, made.request);
  made.request.weights = made.forward.variables;
  made.request.saved = saved_states(made.forward, made.unread);
  return made;
}

Placed make_trained(Trainable trainable, CheckedOptions& checked) {
  const Strategy& strategy = checked.strategy;
  ir::Training& forward = trainable.forward;
  const ir::TrainingRequest& request = trainable.request;
  std::optional<ir::BatchSplit> slice;
  if (request.contributions.slices > 1) {
    slice = lower::split_to_train(forward.graph, forward.variables, strategy);
    forward.graph = slice->graph;
  }
  ask_for_operands(forward, strategy);
  ir::Differentiated made = ir::append_derivatives(forward.graph, request);
  const Machine machine{strategy, checked.device};
  const Machine groups = of_groups(machine, trainable.sharding);
  TrainingMemory memory;
  if (strategy.virtual_graph_mode == VirtualGraphMode::Auto)
    memory = memory_of_training(made, request, strategy, checked.device);
  place_forward(forward, made.training.graph, trainable.metadata, groups.strategy, groups.device, memory);
  ir::Training training = ir::append_updates(std::move(made), request);
  note_unused_states(trainable.unread, training, request.optimizer, checked.notes);
  note_numbers(trainable.numbers, checked.notes);
  note_narrow_states(request.optimizer, checked.notes);
  note_untrained(training, checked.notes);
  check_overrides(trainable.added, training.graph);
  lower::add_anchors(training.graph, strategy);
  if (slice) ir::set_slices(training, *slice, request.contributions.slices);
  ir::round_operands(training.graph);
  ir::optimize(training, {.evaluate = kernels::evaluate});
  plan_products(training.graph, strategy);
  std::optional<Watched> watched;
  if (checked.watches) watched = watch(training);
  ir::Placement placement = place_training(training.graph, trainable.metadata, groups.strategy);
  if (is_whole(trainable.sharding))
    return {
        .training = std::move(training), .placement = std::move(placement), .watched = std::move(watched)};
  trainable.sharding.placement = std::move(placement);
  annotate::Partitioned cut = cut_over_devices(training, trainable.sharding, checked);
  if (watched) watched->cuts = std::move(cut.ops);
  if (watched) watched->devices = trainable.sharding.devices;
  plan_products(training.graph, strategy);
  placement = place_training(training.graph, trainable.metadata, of_devices(machine).strategy);
  return {std::move(training), std::move(placement), std::move(cut.variables), std::move(cut.reshardings),
          std::move(watched)};
}

}  // namespace podium
