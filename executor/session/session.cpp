#include "executor/session/session.h"

#include <algorithm>

#include "executor/lower/lower.h"
#include "executor/session/check_options.h"
#include "executor/session/clock.h"
#include "executor/session/host_arrays.h"
#include "executor/session/place_model.h"
#include "executor/session/trained_model.h"
#include "ir/gradients/expand_gradients.h"
#include "ir/passes/make_training.h"
#include "ir/passes/optimize.h"

namespace podium {

struct InferenceSession::State {
  Notes notes;
  Options strategy;           // as it takes effect
  VariableStore weights;      // that are not constant
  executor::Program program;  // while there is no engine
  std::optional<numeric::Engine> engine;
  std::optional<sim::Timeline> timeline;
  std::optional<LateClock> late_clock;  // where data decides sizes

  // A run has its numbers also when nothing tells its time; then a note says why.
  template <class Run>
  void clocked(bool is_needed, Run run) {
    try {
      timeline = run();
    } catch (const Error& error) {
      if (is_needed) throw;
      notes.push_back(fmt::format("no simulated time: {}", error.what()));
    }
  }
};

void optimize(importer::Model& model) {
  const ir::InferOptions options{.evaluate = kernels::evaluate};
  ir::expand_gradients(model.graph, options);
  ir::optimize(model.graph, options);
}

namespace {

// Of an estimate, which has no data that could bind them.
void check_dimensions(const ir::Graph& graph) {
  for (ir::ValueId id : graph.inputs) {
    if (graph[id].type.is_static()) continue;
    throw Error("input '{}' is {}: a size for every symbolic dimension needed (--dim)", graph[id].name,
                to_string(graph[id].type));
  }
}

// What a model's own outputs are is the model's matter; one without any computes for its anchors alone.
void check_computes(const ir::Graph& graph, std::size_t own_outputs) {
  if (own_outputs > 0 || graph.ops.empty()) return;
  const auto producer = producers(graph);
  const auto is_made = [&](ir::ValueId id) { return producer[id.index].valid(); };
  if (std::any_of(graph.outputs.begin(), graph.outputs.end(), is_made)) return;
  if (graph.outputs.empty())
    throw Error("the model has no outputs: an anchor needed, there is nothing to compute");
  throw Error(
      "anchor '{}'{}: the model has no outputs of its own and no op makes an anchor: there is nothing to "
      "compute",
      graph[graph.outputs[0]].name,
      graph.outputs.size() > 1 ? fmt::format(" and {} more", graph.outputs.size() - 1) : "");
}

// Weights that change between runs, or that not all replicas share, are variables that nothing updates.
std::vector<ir::Variable> take_variables(importer::Model& model, const Options& options,
                                         const GroupsByName& groups) {
  std::vector<std::string> names;
  if (!options.constant_weights) names = weight_names(model);
  for (const auto& [name, group] : groups) names.push_back(name);
  if (names.empty()) return {};
  if (options.batch_serialization.factor > 1) {
    throw Error("batchSerializationSettings.factor: {} found, 0 needed for weights that are not constant",
                options.batch_serialization.factor);
  }
  return ir::take_weights(model.graph, names);
}

ir::Placement place(ir::Training& forward, const importer::ModelInfo& info, const Options& options,
                    const device::Device& device) {
  importer::Model known{
      .graph = with_constants(forward.graph, forward.variables), .info = info, .source = nullptr};
  ir::Placement placement = place_model(known, options, device);
  forward.graph.ops = std::move(known.graph.ops);
  return placement;
}

executor::Program lowered(ir::Training forward, const ir::Placement& placement, const Options& options,
                          Notes& notes) {
  if (forward.variables.empty()) {
    return lower::lower(std::move(forward.graph), placement, options, &notes);
  }
  return lower::lower(std::move(forward), placement, options, &notes);
}

}  // namespace

InferenceSession::InferenceSession(importer::Model model, const SessionOptions& options)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  const bool estimates = options.clock && options.estimate;
  if (!estimates) check_data(model.graph);
  const device::Device device = options.device.value_or(endless_device());
  const Options& strategy = state.strategy =
      check_options(options.strategy, device, Task::Inference, state.notes);
  if (!options.optimized) {
    check_annotations(model, strategy);
    check_overrides(strategy, model.graph);
  }
  const GroupsByName groups = own_groups(model.info, strategy.replicas);
  const TensorsByName group_values = take_group_values(model, groups, strategy.replicas);
  ir::Training forward{.variables = take_variables(model, strategy, groups)};
  forward.graph = std::move(model.graph);
  const std::size_t own_outputs = forward.graph.outputs.size();
  lower::add_anchors(forward.graph, strategy);
  if (!options.optimized) {
    check_computes(forward.graph, own_outputs);
    optimize(forward);
  }
  // Beyond this point no op is added or removed, so the placement stays true.
  const ir::Placement placement = place(forward, model.info, strategy, device);
  check_placement(strategy, placement, device);
  const Clock clock{device, strategy, options.events};
  if (estimates) check_dimensions(forward.graph);
  const auto unknown = options.clock ? undecided(forward.graph) : std::nullopt;
  if (unknown) {
    if (estimates) throw Error("{} is decided by data: a run is needed, not an estimate", *unknown);
    if (forward.variables.empty()) {
      state.late_clock = LateClock{clock, forward.graph, placement};
    } else {
      state.notes.push_back(fmt::format("no simulated time: {} is decided by data", *unknown));
    }
  }
  const std::vector<NamedVariable> variables = named_variables(forward);
  state.program = lowered(std::move(forward), placement, strategy, state.notes);
  state.weights = VariableStore(variables, groups, state.program);
  check_host_tensors(state.program);
  if (options.clock && !unknown) {
    state.clocked(estimates, [&] { return clock.run(state.program); });
  }
  if (estimates || (state.timeline && !state.timeline->fits())) return;
  state.engine.emplace(
      std::move(state.program),
      numeric::PrepareOptions{.seed = options.seed, .threads = options.threads, .fuse = options.fuse});
  for (const auto& [name, value] : group_values) state.weights.set(*state.engine, name, value);
}

InferenceSession::~InferenceSession() = default;
InferenceSession::InferenceSession(InferenceSession&&) noexcept = default;

std::span<const ir::Datum> InferenceSession::run(std::span<const ir::Datum> given) {
  State& state = *state_;
  IR_CHECK(can_run(), "a session that only estimates, or does not fit, is run");
  if (given.size() != inputs().size())
    throw Error("{} inputs found, {} needed", given.size(), inputs().size());
  for (std::size_t i = 0; i < given.size(); ++i) check_input(inputs()[i], given[i], program().replicas);
  const auto outputs = state.engine->run(given);
  if (state.late_clock) {
    state.clocked(false, [&] { return state.late_clock->run(given); });
    state.late_clock.reset();
  }
  return outputs;
}

void InferenceSession::set_weights(const TensorsByName& values) {
  State& state = *state_;
  if (state.strategy.constant_weights)
    throw Error("weights cannot be set: constantWeights is true, false needed");
  for (const auto& [name, value] : values) {
    if (!state.weights.contains(name)) throw Error("'{}' is no weight", name);
    state.weights.set(*state.engine, name, value);
  }
}

const executor::Program& InferenceSession::program() const {
  return state_->engine ? state_->engine->program() : state_->program;
}
const sim::Timeline* InferenceSession::timeline() const {
  return state_->timeline ? &*state_->timeline : nullptr;
}
const Options& InferenceSession::strategy() const { return state_->strategy; }
bool InferenceSession::can_run() const { return state_->engine.has_value(); }
const Notes& InferenceSession::notes() const { return state_->notes; }
std::int64_t InferenceSession::peak_bytes(int processor) const {
  return state_->engine->peak_bytes(processor);
}
std::size_t InferenceSession::arena_bytes() const { return can_run() ? state_->engine->arena_bytes() : 0; }

}  // namespace podium
