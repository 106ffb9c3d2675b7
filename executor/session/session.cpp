// A session of inference takes the path of its constructor, top to bottom: options and annotations are
// checked, the graph is optimized and rewritten as its annotations ask, placed and compiled. Weights are
// constants of the graph, or, where they can be set or not all replicas share them, variables that nothing
// updates.
#include "executor/session/session.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "executor/lower/lower.h"
#include "executor/session/check_options.h"
#include "executor/session/choose_schedule.h"
#include "executor/session/compile.h"
#include "executor/session/host_arrays.h"
#include "executor/session/model_weights.h"
#include "executor/session/place_model.h"
#include "executor/session/tensor_parallel.h"
#include "ir/nearest.h"
#include "ir/passes/bind_replicas.h"
#include "ir/passes/number_random_ops.h"

namespace podium {

struct InferenceSession::State {
  CheckedOptions checked;
  IdCounts ids;
  Compiled compiled;
  std::optional<Watched> watched;
};

void optimize(importer::Model& model) {
  ir::number_random_ops(model.graph, ir::Seeded::AsOnnxDoes);
  ir::Training forward{.graph = std::move(model.graph)};
  optimize(forward);
  model.graph = std::move(forward.graph);
}

namespace {

// What a model's own outputs are is the model's matter; one without any computes for its anchors alone.
void check_computes(const ir::Graph& graph, std::size_t own_outputs) {
  if (own_outputs > 0 || graph.ops.empty()) return;
  const auto producer = producers(graph);
  const auto is_made = [&](ir::ValueId id) { return producer[id].valid(); };
  if (std::any_of(graph.outputs.begin(), graph.outputs.end(), is_made)) return;
  if (graph.outputs.empty())
    throw Error("the model has no outputs: an anchor needed, there is nothing to compute");
  throw Error(
      "anchor '{}'{}: the model has no outputs of its own and no op makes an anchor: there is nothing to "
      "compute",
      graph[graph.outputs[0]].name,
      graph.outputs.size() > 1 ? fmt::format(" and {} more", graph.outputs.size() - 1) : "");
}

std::set<std::string> names_of_weights(const importer::Model& model) {
  const std::vector<std::string> names = weight_names(model);
  return {names.begin(), names.end()};
}

std::set<std::string> updatable_buffers(const importer::Model& model, const Strategy& strategy) {
  const std::vector<std::string> names = float_initializers(model);
  for (const std::string& name : strategy.updatable_buffers) {
    if (std::ranges::count(names, name) > 0) continue;
    throw Error("updatableNamedBuffers: '{}' found, which is no initializer of floats that a node reads{}",
                name,
                names.empty()
                    ? ""
                    : fmt::format(", the nearest is '{}'", ir::nearest(name, {names.begin(), names.end()})));
  }
  return {strategy.updatable_buffers.begin(), strategy.updatable_buffers.end()};
}

// Weights that change between runs, or that not all replicas share, are variables that nothing updates.
ir::Training take_forward(importer::Model& model, const Strategy& strategy, const GroupsByName& groups) {
  std::set<std::string> names;
  if (!strategy.constant_weights) names.merge(names_of_weights(model));
  names.merge(updatable_buffers(model, strategy));
  for (const auto& [name, group] : groups) names.insert(name);
  if (names.empty()) return {.graph = std::move(model.graph)};
  return with_variables(std::move(model.graph), {names.begin(), names.end()});
}

ir::Placement place(ir::Training& forward, const importer::ModelInfo& info, const Machine& machine) {
  ir::Graph known = with_constants(forward);
  ir::Placement placement = place_graph(known, info.metadata, machine.strategy, machine.device);
  forward.graph.ops = std::move(known.ops);
  return placement;
}

Placed place(ir::Training forward, const importer::ModelInfo& info, annotate::ShardingPlan sharding,
             CheckedOptions& checked) {
  const Machine machine{checked.strategy, checked.device};
  std::optional<Watched> watched;
  if (checked.watches) watched = watch(forward);
  ir::Placement placement = place(forward, info, of_groups(machine, sharding));
  if (is_whole(sharding))
    return {.training = std::move(forward), .placement = std::move(placement), .watched = std::move(watched)};
  sharding.placement = std::move(placement);
  annotate::Partitioned cut = cut_over_devices(forward, sharding, checked);
  if (watched) watched->cuts = std::move(cut.ops);
  if (watched) watched->devices = sharding.devices;
  placement = place(forward, info, of_devices(machine));
  return {std::move(forward), std::move(placement), std::move(cut.variables), std::move(cut.reshardings),
          std::move(watched)};
}

}  // namespace

InferenceSession::InferenceSession(importer::Model model, const SessionOptions& given)
    : state_(std::make_unique<State>()) {
  SessionOptions options = given;
  const Notes chosen = choose_schedule(options, Task::Inference, [&](const SessionOptions& one) {
    return *InferenceSession(model, one).timeline();
  });
  CheckedOptions& checked = state_->checked = check(model, options, Task::Inference);
  checked.notes.insert(checked.notes.end(), chosen.begin(), chosen.end());
  if (!options.optimized) check_overrides(checked.strategy, model.graph);
  ir::number_random_ops(model.graph, ir::Seeded::AsOnnxDoes);
  const bool exchanges = ir::bind_replicas(model.graph, checked.strategy.replicas);
  const GroupedWeights weights = take_grouped_weights(model, checked.strategy.replicas);
  annotate::ShardingPlan sharding = plan_sharding(model, checked.strategy);
  ir::Training forward = take_forward(model, checked.strategy, weights.groups);
  const std::size_t own_outputs = forward.graph.outputs.size();
  lower::add_anchors(forward.graph, checked.strategy);
  if (!options.optimized) check_computes(forward.graph, own_outputs);
  // Sizes follow from the replicas where these exchange.
  if (!options.optimized || exchanges) optimize(forward);
  state_->ids = count_ids(forward.graph);
  follow_annotations(forward, checked.strategy);
  narrow_operands(forward, checked.strategy);
  Placed placed = place(std::move(forward), model.info, std::move(sharding), checked);
  state_->watched = std::move(placed.watched);
  state_->compiled = compile(std::move(placed), weights, checked);
}

InferenceSession::~InferenceSession() = default;
InferenceSession::InferenceSession(InferenceSession&&) noexcept = default;

const IdCounts& InferenceSession::ids() const { return state_->ids; }

std::span<const ir::Datum> InferenceSession::run(std::span<const ir::Datum> given) {
  Compiled& compiled = state_->compiled;
  IR_CHECK(can_run(), "a session that only estimates, or does not fit, is run");
  if (given.size() != inputs().size())
    throw Error("{} inputs found, {} needed", given.size(), inputs().size());
  for (std::size_t i = 0; i < given.size(); ++i) check_input(inputs()[i], given[i], program().replicas);
  const auto outputs = compiled.engine->run(given);
  if (compiled.late_clock) {
    std::vector<ir::Datum> first(given.begin(), given.end());
    for (std::size_t i = 0; i < first.size(); ++i)
      first[i] = first_if_apart(inputs()[i], first[i], program().replicas);
    clock_late(compiled, first, state_->checked);
  }
  return outputs;
}

void InferenceSession::set_weights(const TensorsByName& values) {
  Compiled& compiled = state_->compiled;
  const std::vector<std::string>& updatable = strategy().updatable_buffers;
  if (strategy().constant_weights && updatable.empty())
    throw Error("weights cannot be set: constantWeights is true, false needed");
  for (const auto& [name, value] : values) {
    if (strategy().constant_weights && std::ranges::count(updatable, name) == 0) {
      throw Error(
          "weight '{}' cannot be set: constantWeights is true, and updatableNamedBuffers has '{}' alone",
          name, fmt::join(updatable, "', '"));
    }
    if (!compiled.store.contains(name)) throw Error("'{}' is no weight", name);
    compiled.store.set(compiled.running(), name, value);
  }
}

const executor::Program& InferenceSession::program() const { return state_->compiled.program(); }
const executor::Program& InferenceSession::clocked_program() const {
  const Compiled& compiled = state_->compiled;
  return compiled.clocked_late ? *compiled.clocked_late : compiled.program();
}
const sim::Timeline* InferenceSession::timeline() const {
  const auto& timeline = state_->compiled.timeline;
  return timeline ? &*timeline : nullptr;
}
sim::Timeline InferenceSession::clocked_on(const device::Device& device) const {
  return clocked_elsewhere(state_->compiled, state_->checked, device);
}
const Strategy& InferenceSession::strategy() const { return state_->checked.strategy; }
const std::vector<annotate::Resharding>& InferenceSession::reshardings() const {
  return state_->compiled.reshardings;
}
bool InferenceSession::can_run() const { return state_->compiled.engine != nullptr; }
const Notes& InferenceSession::notes() const { return state_->checked.notes; }
const Watched* InferenceSession::watched() const { return state_->watched ? &*state_->watched : nullptr; }
std::int64_t InferenceSession::peak_bytes(int processor) const {
  return state_->compiled.engine->peak_bytes(processor);
}
numeric::ArenaBytes InferenceSession::arena() const {
  return can_run() ? state_->compiled.engine->arena() : numeric::ArenaBytes{};
}

}  // namespace podium
