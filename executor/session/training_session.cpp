#include "executor/session/training_session.h"

#include <algorithm>
#include <cmath>

#include "executor/lower/lower.h"
#include "executor/lower/strategies/batch_serialise.h"
#include "executor/session/check_options.h"
#include "executor/session/clock.h"
#include "executor/session/host_arrays.h"
#include "executor/session/optimizer_change.h"
#include "executor/session/place_model.h"
#include "executor/session/trained_model.h"
#include "importer/write_model.h"
#include "ir/nearest.h"
#include "ir/passes/make_training.h"
#include "ir/passes/optimizer_states.h"
#include "ir/passes/set_precision.h"

namespace podium {

using executor::HostTensor;

// An input of the Program that the session feeds: a scalar of the optimizer's equations.
struct FedScalar {
  std::string input;
  const ir::ScalarSpec* row;
  std::string weight;
  ir::DataType type;
};

namespace {

ir::Contributions contributions_of(const Options& options, const GroupsByName& groups) {
  ir::Contributions contributions{.accumulation = options.accumulation_factor, .replicas = options.replicas};
  contributions.slices = std::max(1, options.batch_serialization.factor);
  contributions.groups.assign(groups.begin(), groups.end());
  if (options.reduction == Reduction::Mean) {
    contributions.reduction = options.mean_strategy == MeanStrategy::Post
                                  ? ir::GradientReduction::MeanPost
                                  : ir::GradientReduction::MeanRunning;
  }
  return contributions;
}

bool has_value(const ir::Graph& graph, std::string_view name) {
  return std::any_of(graph.values.begin(), graph.values.end(),
                     [&](const ir::Value& value) { return value.name == name; });
}

// Anchors of derivatives and updates are tensors only once there are some.
Options with_known_anchors(Options options, const ir::Graph& graph) {
  std::erase_if(options.anchors, [&](const auto& anchor) { return !has_value(graph, anchor.first); });
  return options;
}

std::vector<std::string> gradients_asked_for(const Options& options) {
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
Options without_known_overrides(Options options, const ir::Graph& graph) {
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

std::vector<FedScalar> fed_scalars(const ir::Training& training) {
  std::vector<FedScalar> fed;
  for (const ir::HyperParameter& one : training.hyper_parameters) {
    const ir::Value& value = training.graph[one.value];
    const std::string weight = one.weight.valid() ? training.graph[one.weight].name : "";
    fed.push_back({value.name, one.row, weight, value.type.element});
  }
  return fed;
}

void note_untrained(const ir::Training& training, Notes& notes) {
  if (training.untrained.empty()) return;
  notes.push_back(fmt::format(
      "{} initializers are not trained: {}{}; {}", training.untrained.size(),
      training.graph[training.untrained[0]].name, training.untrained.size() > 1 ? ", ..." : "",
      training.why_untrained.empty() ? "the loss does not depend on them" : training.why_untrained));
}

std::vector<double> numbers_of(const ir::Tensor& tensor) {
  const ir::Tensor doubles = cast(tensor, ir::DataType::Double);
  const auto values = doubles.values<double>();
  return {values.begin(), values.end()};
}

bool is_finite(const ir::Tensor& tensor) {
  const std::vector<double> numbers = numbers_of(tensor);
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
}

}  // namespace

struct TrainingSession::State {
  Notes notes;
  Options in_effect;      // as it takes effect
  importer::Model model;  // as it was read, for writing it: its weights are in the session alone
  std::vector<NamedVariable> variables;
  VariableStore store;
  std::vector<FedScalar> fed;
  ir::Optimizer optimizer;
  ir::Contributions contributions;
  GroupsByName groups;  // of weights that not all replicas share
  std::string loss_name;
  std::vector<double> losses;  // of the last run
  std::int64_t steps = 0;
  std::vector<HostTensor> inputs;  // of data
  executor::Program program;       // while there is no engine
  std::optional<numeric::Engine> engine;
  std::optional<sim::Timeline> timeline;

  ir::Training make(importer::Model& given, const TrainingOptions& options, const Options& strategy,
                    const device::Device& device);
  void keep(const ir::Training& training);
  void keep(const executor::Program& lowered);
  void set_group_values(TensorsByName values);
  void check_loss(std::span<const ir::Datum> outputs);
  std::optional<std::string> first_infinite() const;
  std::vector<std::string> trained() const;
  TensorsByName contents(ir::VariableKind kind, Retrieval retrieval) const;
};

// From a model to everything that one update is made of.
ir::Training TrainingSession::State::make(importer::Model& given, const TrainingOptions& options,
                                          const Options& strategy, const device::Device& device) {
  check_has_loss(given.graph, options.loss);
  const Options unknown = without_known_overrides(strategy, given.graph);
  const ir::InferOptions infer{.evaluate = kernels::evaluate};
  ir::TrainingRequest request{
      .loss = options.loss, .weights = {}, .optimizer = options.optimizer, .contributions = contributions};
  const TensorsByName saved = unread_constants(given.graph);
  const LossScaling& scaling = strategy.loss_scaling;
  if (scaling.automatic) {
    request.automatic_loss_scaling = {.bin_edge = scaling.bin_edge,
                                      .threshold = scaling.upper_proportion,
                                      .update_period = scaling.period,
                                      .tracked = static_cast<ir::TrackedGradients>(scaling.tracking),
                                      .tensors = scaling.tensors};
  }
  const std::vector<std::string> names = options.weights.empty() ? weight_names(given) : options.weights;
  if (names.empty()) throw Error("the model has no initializer of floats that could be trained");
  ir::Training forward{.variables = ir::take_weights(given.graph, names)};
  forward.graph = std::move(given.graph);
  if (forward.variables.size() < names.size()) check_weights(names, forward);
  request.gradients_of = gradients_asked_for(strategy);
  Options known = with_known_anchors(strategy, forward.graph);
  known.anchors.try_emplace(options.loss);  // so that passes leave it its name
  lower::add_anchors(forward.graph, known);
  const std::size_t outputs = forward.graph.outputs.size();
  Options kept;  // what has a gradient by its name
  for (const std::string& name : request.gradients_of) kept.anchors.try_emplace(name);
  lower::add_anchors(forward.graph, with_known_anchors(kept, forward.graph));
  podium::optimize(forward);
  forward.graph.outputs.resize(outputs);
  request.weights = forward.variables;
  request.saved = states_of(forward, saved);
  given.graph = std::move(forward.graph);
  TrainingMemory memory;
  if (strategy.virtual_graph_mode == VirtualGraphMode::Auto) {
    const ir::Training draft = ir::make_training(given.graph, request);
    memory = memory_of_training(draft, given.graph.ops.size(), strategy, device);
  }
  place_forward(given, request.weights, strategy, device, memory);
  std::optional<ir::BatchSplit> slice;
  if (contributions.slices > 1) {
    slice = lower::split_to_train(given.graph, request.weights, strategy);
    given.graph = slice->graph;
  }
  ir::Training training = ir::make_training(std::move(given.graph), request);
  note_unused_state(saved, training, options.optimizer, notes);
  note_untrained(training, notes);
  check_overrides(unknown, training.graph);
  lower::add_anchors(training.graph, strategy);
  if (slice) ir::set_slices(training, *slice, contributions.slices);
  ir::optimize(training, infer);
  return training;
}

void TrainingSession::State::keep(const ir::Training& training) {
  variables = named_variables(training);
  fed = fed_scalars(training);
  loss_name = training.graph[training.graph.outputs[training.loss]].name;
}

void TrainingSession::State::keep(const executor::Program& lowered) {
  store = VariableStore(variables, groups, lowered);
  for (const HostTensor& input : lowered.inputs) {
    const auto is_it = [&](const FedScalar& scalar) { return scalar.input == input.name; };
    if (std::none_of(fed.begin(), fed.end(), is_it)) inputs.push_back(input);
  }
}

// Of initializers with a leading axis of groups; what begins with a weight's value begins with the group's.
void TrainingSession::State::set_group_values(TensorsByName values) {
  for (const NamedVariable& variable : variables) {
    const auto weight = values.find(variable.weight);
    if (weight == values.end() || values.contains(variable.name)) continue;
    for (const ir::StateSpec& state : optimizer.spec->states) {
      if (!state.starts_as_weight || variable.state != state.name) continue;
      const ir::DataType stored = engine->program()[store.buffer(variable.name)].type.element;
      values[variable.name] = first_value(state, {optimizer, variable.weight, contributions},
                                          ir::Type::tensor(stored, weight->second.dims()), weight->second);
    }
  }
  for (const auto& [name, value] : values) {
    if (store.contains(name)) store.set(*engine, name, value);
  }
}

void TrainingSession::State::check_loss(std::span<const ir::Datum> outputs) {
  const std::vector<HostTensor>& names = engine->program().outputs;
  const auto found =
      std::find_if(names.begin(), names.end(), [&](const HostTensor& t) { return t.name == loss_name; });
  losses.clear();
  if (names.empty()) return;  // with synthetic data nothing comes back
  IR_CHECK(found != names.end(), "the loss does not come back");
  losses = numbers_of(outputs[found - names.begin()].tensor);
  const auto bad =
      std::find_if(losses.begin(), losses.end(), [](double loss) { return !std::isfinite(loss); });
  if (bad == losses.end()) return;
  const std::optional<std::string> name = first_infinite();
  throw Error("step {}: loss '{}' is {} in micro-batch {} of {}{}", steps, loss_name, *bad,
              bad - losses.begin() + 1, losses.size(),
              name ? fmt::format("; the first tensor with such a number after it is '{}'", *name) : "");
}

std::optional<std::string> TrainingSession::State::first_infinite() const {
  for (const NamedVariable& variable : variables) {
    if (!is_finite(store.contents(*engine, variable.name))) return variable.name;
  }
  return std::nullopt;
}

std::vector<std::string> TrainingSession::State::trained() const {
  std::vector<std::string> weights;
  for (const NamedVariable& variable : variables) {
    if (variable.kind == ir::VariableKind::Weight) weights.push_back(variable.name);
  }
  return weights;
}

TensorsByName TrainingSession::State::contents(ir::VariableKind kind, Retrieval retrieval) const {
  TensorsByName tensors;
  for (const NamedVariable& variable : variables) {
    if (variable.kind == kind) tensors[variable.name] = store.contents(*engine, variable.name, retrieval);
  }
  return tensors;
}

TrainingSession::TrainingSession(importer::Model model, const TrainingOptions& options)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  const SessionOptions& session = options.session;
  const bool estimates = session.clock && session.estimate;
  if (!estimates) check_data(model.graph);
  const device::Device device = session.device.value_or(endless_device());
  const Options& strategy = state.in_effect =
      check_options(session.strategy, device, Task::Training, state.notes);
  check_annotations(model, strategy);
  state.model = {.graph = {}, .info = model.info, .source = model.source};
  state.groups = own_groups(model.info, strategy.replicas);
  state.contributions = contributions_of(strategy, state.groups);
  TensorsByName group_values = take_group_values(model, state.groups, strategy.replicas);
  Options of_training = strategy;  // what the model has not may be an optimizer's
  std::erase_if(of_training.location_overrides,
                [&](const auto& given) { return has_value(model.graph, given.first); });
  ir::Training training = state.make(model, options, strategy, device);
  check_overrides(of_training, training.graph);
  state.keep(training);
  state.optimizer = ir::for_weights(options.optimizer, state.trained());
  check_waits(strategy, state.optimizer);
  // Beyond this point no op is added or removed, so the placement stays true.
  const ir::Placement placement = place_training(model.info, training.graph, strategy);
  check_placement(strategy, placement, device);
  const auto unknown = session.clock ? undecided(training.graph) : std::nullopt;
  if (unknown && estimates) throw Error("{} is decided by data: a run is needed, not an estimate", *unknown);
  state.program = lower::lower(std::move(training), placement, strategy, &state.notes);
  check_host_tensors(state.program);
  state.keep(state.program);
  if (unknown) state.notes.push_back(fmt::format("no simulated time: {} is decided by data", *unknown));
  if (session.clock && !unknown) state.timeline = Clock{device, strategy, session.events}.run(state.program);
  if (estimates || (state.timeline && !state.timeline->fits())) return;
  state.engine.emplace(
      std::move(state.program),
      numeric::PrepareOptions{.seed = session.seed, .threads = session.threads, .fuse = session.fuse});
  state.set_group_values(std::move(group_values));
}

TrainingSession::~TrainingSession() = default;
TrainingSession::TrainingSession(TrainingSession&&) noexcept = default;

const std::vector<HostTensor>& TrainingSession::inputs() const { return state_->inputs; }

std::span<const ir::Datum> TrainingSession::run(std::span<const ir::Datum> given) {
  State& state = *state_;
  IR_CHECK(can_run(), "a session that only estimates, or does not fit, is run");
  if (given.size() != inputs().size())
    throw Error("{} inputs found, {} needed", given.size(), inputs().size());
  std::map<std::string_view, ir::Datum> by_name;
  for (std::size_t i = 0; i < given.size(); ++i) {
    check_input(inputs()[i], given[i], program().replicas);
    by_name.emplace(inputs()[i].name, given[i]);
  }
  for (const FedScalar& scalar : state.fed) {
    by_name.emplace(scalar.input,
                    ir::hyper_parameter_tensor(
                        *scalar.row, {state.optimizer, scalar.weight, state.contributions}, scalar.type));
  }
  std::vector<ir::Datum> all;
  for (const HostTensor& input : program().inputs) all.push_back(by_name.at(input.name));
  const auto outputs = state.engine->run(all);
  ++state.steps;
  state.check_loss(outputs);
  return outputs;
}

double TrainingSession::loss() const {
  double sum = 0;
  for (double loss : state_->losses) sum += loss;
  return sum / static_cast<double>(std::max<std::size_t>(state_->losses.size(), 1));
}

std::span<const double> TrainingSession::losses() const { return state_->losses; }

std::int64_t TrainingSession::steps() const { return state_->steps; }

TensorsByName TrainingSession::weights(Retrieval retrieval) const {
  TensorsByName tensors = state_->contents(ir::VariableKind::Weight, retrieval);
  tensors.merge(state_->contents(ir::VariableKind::Statistic, retrieval));
  return tensors;
}

TensorsByName TrainingSession::statistics() const {
  return state_->contents(ir::VariableKind::Statistic, Retrieval::OnePerGroup);
}

std::optional<std::string> TrainingSession::first_infinite() const { return state_->first_infinite(); }

TensorsByName TrainingSession::optimizer_state(Retrieval retrieval) const {
  return state_->contents(ir::VariableKind::OptimizerState, retrieval);
}

void TrainingSession::set_weights(const TensorsByName& values) {
  State& state = *state_;
  for (const auto& [name, value] : values) {
    if (!state.store.contains(name))
      throw Error("'{}' is neither a trained weight nor optimizer state", name);
    state.store.set(*state.engine, name, value);
  }
}

void TrainingSession::update_optimizer(const ir::Optimizer& optimizer) {
  const std::vector<std::string> weights = state_->trained();
  ir::Optimizer next = ir::for_weights(optimizer, weights);
  check_replaceable(state_->optimizer, next);
  ir::check_optimizer(next, weights);
  state_->optimizer = std::move(next);
}

const ir::Optimizer& TrainingSession::optimizer() const { return state_->optimizer; }

void TrainingSession::model_to_file(const std::string& path) const {
  const std::map<std::string, ir::Type> types = importer::initializer_types(state_->model);
  TensorsByName trained = weights();
  for (auto& [name, tensor] : trained) {
    const auto found = types.find(name);
    if (found != types.end()) tensor = ir::in_precision(tensor, found->second.element);
  }
  importer::write_model(state_->model, path,
                        {.initializers = trained, .extra_initializers = optimizer_state()});
}

const executor::Program& TrainingSession::program() const {
  return state_->engine ? state_->engine->program() : state_->program;
}
const sim::Timeline* TrainingSession::timeline() const {
  return state_->timeline ? &*state_->timeline : nullptr;
}
const Options& TrainingSession::strategy() const { return state_->in_effect; }
bool TrainingSession::can_run() const { return state_->engine.has_value(); }
const Notes& TrainingSession::notes() const { return state_->notes; }
std::int64_t TrainingSession::peak_bytes(int processor) const {
  return state_->engine->peak_bytes(processor);
}

}  // namespace podium
