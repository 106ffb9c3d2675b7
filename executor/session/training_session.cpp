// A session that trains feeds its Program two kinds of inputs: the user's arrays, and the scalars of the
// optimizer's equations (FedScalar), which are computed anew for every run. After a run it looks at the
// losses: one that is not finite ends the training with an error.
#include "executor/session/training_session.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "executor/session/check_options.h"
#include "executor/session/choose_schedule.h"
#include "executor/session/compile.h"
#include "executor/session/host_arrays.h"
#include "executor/session/model_weights.h"
#include "executor/session/optimizer_change.h"
#include "executor/session/saved_states.h"
#include "executor/session/trainable.h"
#include "importer/write_model.h"
#include "ir/passes/bind_replicas.h"
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

ir::Contributions contributions_of(const Strategy& options, const GroupsByName& groups) {
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

std::vector<FedScalar> fed_scalars(const Placed& placed) {
  const ir::Training& training = placed.training;
  const WholeNames wholes = whole_names(placed.cut);
  std::vector<FedScalar> fed;
  for (const ir::HyperParameter& one : training.hyper_parameters) {
    const ir::Value& value = training.graph[one.value];
    const std::string weight = one.weight.valid() ? whole_name(training.graph[one.weight].name, wholes) : "";
    fed.push_back({value.name, one.row, weight, value.type.element});
  }
  return fed;
}

std::vector<HostTensor> inputs_of_data(const executor::Program& program, const std::vector<FedScalar>& fed) {
  std::vector<HostTensor> inputs;
  for (const HostTensor& input : program.inputs) {
    const auto is_it = [&](const FedScalar& scalar) { return scalar.input == input.name; };
    if (std::none_of(fed.begin(), fed.end(), is_it)) inputs.push_back(input);
  }
  return inputs;
}

std::vector<double> numbers_of(const ir::Tensor& tensor) {
  const ir::Tensor doubles = cast(tensor, ir::DataType::Double);
  const auto values = doubles.values<double>();
  return {values.begin(), values.end()};
}

// A state that starts as its weight does starts as that of the group.
void add_first_values(GroupedWeights& weights, const ir::Training& training, const ir::Optimizer& optimizer,
                      const ir::Contributions& contributions) {
  TensorsByName& values = weights.values;
  for (const ir::Variable& variable : training.variables) {
    if (!variable.weight.valid()) continue;
    const std::string& owner = training.graph[variable.weight].name;
    const ir::Value& value = training.graph[variable.value];
    const auto weight = values.find(owner);
    if (weight == values.end() || values.contains(value.name)) continue;
    for (const ir::StateSpec& state : optimizer.spec->states) {
      if (!state.starts_as_weight || variable.state != state.name) continue;
      values[value.name] =
          first_value(state, {optimizer, owner, contributions},
                      ir::Type::tensor(value.type.element, weight->second.dims()), weight->second);
    }
  }
}

std::vector<std::string> names_of(const std::vector<NamedVariable>& variables, ir::VariableKind kind) {
  std::vector<std::string> names;
  for (const NamedVariable& variable : variables) {
    if (variable.kind == kind) names.push_back(variable.name);
  }
  return names;
}

}  // namespace

void resume(importer::Model& model, const importer::Model& saved) {
  std::map<std::string_view, const ir::Tensor*> values;
  for (const ir::Value& value : saved.graph.values) {
    if (value.constant) values.emplace(value.name, &*value.constant);
  }
  // A number of a formula may have been named to be trained, and may be missing where it was not.
  const std::vector<std::string> names = float_initializers(model);
  const std::set<std::string_view> wanted(names.begin(), names.end());
  const std::vector<std::string> needed = weight_names(model);
  for (ir::Value& weight : model.graph.values) {
    if (!wanted.contains(weight.name)) continue;
    const auto found = values.find(weight.name);
    if (found == values.end()) {
      if (std::find(needed.begin(), needed.end(), weight.name) == needed.end()) continue;
      throw Error("there is no weight '{}'", weight.name);
    }
    if (found->second->type_and_dims() != weight.type) {
      throw Error("weight '{}': {} found, {} needed", weight.name, to_string(found->second->type_and_dims()),
                  to_string(weight.type));
    }
    weight.constant = *found->second;
    weight.data_left_out = false;
  }
  const std::map<std::string, ir::Tensor> own = unread_constants(model.graph);
  for (const auto& [name, value] : unread_constants(saved.graph)) {
    if (!own.contains(name)) model.graph.add_constant(name, value);
  }
}

struct TrainingSession::State {
  CheckedOptions checked;
  Compiled compiled;
  std::optional<Watched> watched;
  importer::Model model;       // as it was read, for writing it: its weights are in the session alone
  std::vector<FedScalar> fed;  // by the session, beside what its user gives
  ir::Optimizer optimizer;
  ir::Contributions contributions;
  std::string loss_name;
  std::vector<double> losses;  // of the last run
  std::int64_t steps = 0;
  std::vector<HostTensor> inputs;  // of data
  IdCounts ids;

  void check_loss(std::span<const ir::Datum> outputs);
  void clock_late(std::map<std::string_view, ir::Datum>& given);
  std::optional<std::string> first_infinite() const;
  std::vector<std::string> trained() const { return names_of(compiled.variables, ir::VariableKind::Weight); }
  TensorsByName contents(ir::VariableKind kind, Retrieval retrieval) const;
};

void TrainingSession::State::check_loss(std::span<const ir::Datum> outputs) {
  const std::vector<HostTensor>& names = compiled.program().outputs;
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

// Where data decides sizes, the first step tells them; what it was given, by name, and its variables show
// them.
void TrainingSession::State::clock_late(std::map<std::string_view, ir::Datum>& given) {
  if (!compiled.late_clock) return;
  for (const HostTensor& input : inputs) {
    ir::Datum& whole = given.at(input.name);
    whole = first_if_apart(input, whole, compiled.program().replicas);
  }
  for (const NamedVariable& variable : compiled.variables) {
    given.emplace(variable.name,
                  compiled.store.contents(*compiled.engine, variable.name, Retrieval::FirstReplica));
  }
  const ir::Graph& graph = compiled.late_clock->training.graph;
  std::vector<ir::Datum> data;
  for (ir::ValueId id : graph.inputs) {
    const auto found = given.find(graph[id].name);
    if (found != given.end()) data.push_back(found->second);
  }
  podium::clock_late(compiled, data, checked);
}

std::optional<std::string> TrainingSession::State::first_infinite() const {
  for (const NamedVariable& variable : compiled.variables) {
    if (!is_finite(compiled.store.contents(compiled.running(), variable.name))) return variable.name;
  }
  return std::nullopt;
}

TensorsByName TrainingSession::State::contents(ir::VariableKind kind, Retrieval retrieval) const {
  TensorsByName tensors;
  for (const std::string& name : names_of(compiled.variables, kind)) {
    tensors[name] = compiled.store.contents(compiled.running(), name, retrieval);
  }
  return tensors;
}

TrainingSession::TrainingSession(importer::Model model, const TrainingOptions& given)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  TrainingOptions options = given;
  const Notes chosen = choose_schedule(options.session, Task::Training, [&](const SessionOptions& session) {
    TrainingOptions one = given;
    one.session = session;
    return *TrainingSession(model, one).timeline();
  });
  CheckedOptions& checked = state.checked = check(model, options.session, Task::Training);
  checked.notes.insert(checked.notes.end(), chosen.begin(), chosen.end());
  state.model = {.graph = {}, .info = model.info, .source = model.source};
  ir::bind_replicas(model.graph, checked.strategy.replicas);
  GroupedWeights weights = take_grouped_weights(model, checked.strategy.replicas);
  state.contributions = contributions_of(checked.strategy, weights.groups);
  Trainable trainable = make_trainable(std::move(model), options, state.contributions, checked.strategy);
  state.ids = count_ids(trainable.forward.graph);
  Placed placed = make_trained(std::move(trainable), checked);
  const ir::Training& training = placed.training;
  state.fed = fed_scalars(placed);
  state.loss_name = training.graph[training.graph.outputs[training.loss]].name;
  state.optimizer = ir::for_weights(
      options.optimizer,
      names_of(with_whole_variables(named_variables(training), placed.cut), ir::VariableKind::Weight));
  check_waits(checked.strategy, state.optimizer);
  add_first_values(weights, training, state.optimizer, state.contributions);
  state.watched = std::move(placed.watched);
  state.compiled = compile(std::move(placed), weights, checked);
  state.inputs = inputs_of_data(state.compiled.program(), state.fed);
}

TrainingSession::~TrainingSession() = default;
TrainingSession::TrainingSession(TrainingSession&&) noexcept = default;

const std::vector<HostTensor>& TrainingSession::inputs() const { return state_->inputs; }

const IdCounts& TrainingSession::ids() const { return state_->ids; }

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
    const ir::Tensor value = ir::hyper_parameter_tensor(
        *scalar.row, {state.optimizer, scalar.weight, state.contributions}, scalar.type);
    by_name.emplace(scalar.input, value);
    if (state.watched) state.watched->fed[scalar.input] = value;
  }
  std::vector<ir::Datum> all;
  for (const HostTensor& input : program().inputs) all.push_back(by_name.at(input.name));
  const auto outputs = state.compiled.engine->run(all);
  ++state.steps;
  state.check_loss(outputs);
  state.clock_late(by_name);
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

bool TrainingSession::copies_agree() const {
  const Compiled& compiled = state_->compiled;
  return std::ranges::all_of(compiled.variables, [&](const NamedVariable& variable) {
    return compiled.store.copies_agree(compiled.running(), variable.name);
  });
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
    if (!state.compiled.store.contains(name))
      throw Error("'{}' is neither a trained weight nor optimizer state", name);
    state.compiled.store.set(state.compiled.running(), name, value);
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

const executor::Program& TrainingSession::program() const { return state_->compiled.program(); }
const executor::Program& TrainingSession::clocked_program() const {
  const Compiled& compiled = state_->compiled;
  return compiled.clocked_late ? *compiled.clocked_late : compiled.program();
}
const sim::Timeline* TrainingSession::timeline() const {
  const auto& timeline = state_->compiled.timeline;
  return timeline ? &*timeline : nullptr;
}
sim::Timeline TrainingSession::clocked_on(const device::Device& device) const {
  return clocked_elsewhere(state_->compiled, state_->checked, device);
}
const std::optional<schedule::Bound>& TrainingSession::bound() const { return state_->compiled.bound; }
const Strategy& TrainingSession::strategy() const { return state_->checked.strategy; }
const std::vector<annotate::Resharding>& TrainingSession::reshardings() const {
  return state_->compiled.reshardings;
}
bool TrainingSession::can_run() const { return state_->compiled.engine != nullptr; }
const Notes& TrainingSession::notes() const { return state_->checked.notes; }
const Watched* TrainingSession::watched() const { return state_->watched ? &*state_->watched : nullptr; }
std::int64_t TrainingSession::peak_bytes(int processor) const {
  return state_->compiled.engine->peak_bytes(processor);
}

}  // namespace podium
