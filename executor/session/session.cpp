#include "executor/session/session.h"

#include <algorithm>
#include <limits>

#include "executor/device/presets.h"
#include "executor/lower/lower.h"
#include "executor/session/check_options.h"
#include "executor/session/clock.h"
#include "executor/session/place_model.h"
#include "ir/passes/expand_gradients.h"
#include "ir/passes/optimize.h"

namespace podium {

using executor::HostTensor;

namespace {

void check_data(const ir::Graph& graph) {
  for (const ir::Value& value : graph.values) {
    if (value.data_left_out) {
      throw Error("weight '{}' was written without its data, which a run needs (weights=seeded)", value.name);
    }
  }
}

// The default preset's numbers for placing by cost, but without an end to its processors.
device::Device endless_device() {
  device::Device device = *device::find_preset(device::kDefaultPreset);
  device.processors = std::numeric_limits<int>::max();
  return device;
}

bool dims_fit(const ir::Type& wanted, const ir::Dims& found) {
  if (!wanted.has_rank) return true;
  return std::equal(wanted.dims.begin(), wanted.dims.end(), found.begin(), found.end(),
                    [](std::int64_t a, std::int64_t b) { return a == ir::kUnknown || a == b; });
}

// What is prepared for a type must never see another, so the items of sequences are looked at too.
bool fits(const ir::Type& wanted, const ir::Datum& found) {
  switch (wanted.kind) {
    case ir::Kind::Optional:
      return found.is_nothing() || fits(*wanted.inner, found);
    case ir::Kind::Sequence:
      return found.holds == ir::Datum::Holds::Sequence &&
             std::all_of(found.items->begin(), found.items->end(),
                         [&](const ir::Datum& item) { return fits(*wanted.inner, item); });
    case ir::Kind::Map:
      return found.holds == ir::Datum::Holds::Map;
    case ir::Kind::Tensor:
      break;
  }
  const bool any_element = wanted.element == ir::DataType::Undefined;
  return found.is_tensor() && (any_element || wanted.element == found.tensor.type()) &&
         dims_fit(wanted, found.tensor.dims());
}

// An array of several micro-batches: only the number of its elements counts.
void check_array(const HostTensor& input, const ir::Datum& given, int replicas) {
  const ir::Type one = whole_type(input);
  if (!given.is_tensor() || given.tensor.type() != one.element) {
    throw Error("input '{}': {} found, elements of type {} needed", input.name, to_string(type_of(given)),
                name_of(one.element));
  }
  const std::int64_t needed = one.element_count() * input.micro_batches * replicas;
  if (given.tensor.size() == needed) return;
  throw Error(
      "input '{}': {} elements found, {} needed: {} of a micro-batch x {} micro-batches x {} replicas{}",
      input.name, given.tensor.size(), needed, one.element_count(), input.micro_batches, replicas,
      input.broadcast ? " (broadcast)" : "");
}

// Micro-batches lie in one array, so they must be tensors, and those that come must have a known size.
void check_host_tensors(const executor::Program& program) {
  const auto check = [&](const HostTensor& tensor, const char* what, bool comes) {
    if (tensor.micro_batches * program.replicas == 1) return;
    const ir::Type type = whole_type(tensor);
    if (type.is_tensor() && (!comes || type.is_static())) return;
    throw Error("{} '{}': {} found, a tensor{} needed for several micro-batches in one array", what,
                tensor.name, to_string(type), comes ? " of known size" : "");
  };
  for (const HostTensor& input : program.inputs) check(input, "input", true);
  for (const HostTensor& output : program.outputs) check(output, "output", false);
}

void check_input(const HostTensor& input, const ir::Datum& given, int all_replicas) {
  const int replicas = input.broadcast ? 1 : all_replicas;
  if (input.micro_batches * replicas > 1) return check_array(input, given, replicas);
  const ir::Type type = whole_type(input);
  if (fits(type, given)) return;
  throw Error("input '{}': {} found, {} needed", input.name, to_string(type_of(given)), to_string(type));
}

}  // namespace

struct InferenceSession::State {
  Notes notes;
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

InferenceSession::InferenceSession(importer::Model model, const SessionOptions& options)
    : state_(std::make_unique<State>()) {
  State& state = *state_;
  const bool estimates = options.clock && options.estimate;
  if (!estimates) check_data(model.graph);
  const device::Device device = options.device ? *options.device : endless_device();
  const Options strategy = check_options(options.strategy, device, false, state.notes);
  if (!options.optimized) check_annotations(model, strategy);
  lower::add_anchors(model.graph, strategy);
  if (!options.optimized) optimize(model);
  // Beyond this point no op is added or removed, so the placement stays true.
  const ir::Placement placement = place_model(model, strategy, device);
  check_placement(strategy, placement, device);
  const Clock clock{device, strategy, options.events};
  const auto unknown = options.clock ? undecided(model.graph) : std::nullopt;
  if (unknown) {
    if (estimates) throw Error("{} is decided by data: a run is needed, not an estimate", *unknown);
    state.late_clock = LateClock{clock, model.graph, placement};
  }
  state.program = lower::lower(std::move(model.graph), placement, strategy, &state.notes);
  check_host_tensors(state.program);
  if (options.clock && !state.late_clock) {
    state.clocked(estimates, [&] { return clock.run(state.program); });
  }
  if (estimates || (state.timeline && !state.timeline->fits())) return;
  state.engine.emplace(
      std::move(state.program),
      numeric::PrepareOptions{.seed = options.seed, .threads = options.threads, .fuse = options.fuse});
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

const executor::Program& InferenceSession::program() const {
  return state_->engine ? state_->engine->program() : state_->program;
}
const sim::Timeline* InferenceSession::timeline() const {
  return state_->timeline ? &*state_->timeline : nullptr;
}
bool InferenceSession::can_run() const { return state_->engine.has_value(); }
const Notes& InferenceSession::notes() const { return state_->notes; }
std::int64_t InferenceSession::peak_bytes(int processor) const {
  return state_->engine->peak_bytes(processor);
}
std::size_t InferenceSession::arena_bytes() const { return can_run() ? state_->engine->arena_bytes() : 0; }

}  // namespace podium
