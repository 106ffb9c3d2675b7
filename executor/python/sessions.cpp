// A session is made and run without the interpreter's lock (calls.h). Its report is made of what the session
// tells and of the real times that are taken here.
#include "executor/python/sessions.h"

#include <fmt/format.h>

#include <sstream>

#include "executor/cli/optimizer_file.h"
#include "executor/cli/optimizer_text.h"
#include "executor/cli/session_options.h"
#include "executor/cli/training_job.h"
#include "executor/cli/version.h"
#include "executor/python/calls.h"
#include "executor/python/feeds.h"
#include "executor/report/overflow.h"
#include "executor/report/report.h"
#include "executor/report/table.h"
#include "executor/report/trace.h"
#include "executor/session/host_arrays.h"
#include "executor/session/stopwatch.h"
#include "ir/optimizer_spec.h"
#include "ir/passes/set_precision.h"

namespace podium::python {
namespace {

namespace py = pybind11;

importer::Model in_precision(importer::Model model, const Settings& settings) {
  if (settings.options.precision) ir::set_precision(model.graph, *settings.options.precision);
  return model;
}

// The values of an optimizer by the names that users type.
void let_change(ir::Optimizer& optimizer, const std::vector<std::string>& changing) {
  for (const std::string& typed : changing) {
    for (const ir::ValueSpec& value : ir::all_optimizer_values()) {
      const auto found = optimizer.defaults.find(value.name);
      if (value.typed == typed && found != optimizer.defaults.end()) found->second.constant = false;
    }
  }
}

// The values, which share memory with the session, apart from it.
TensorsByName copies(TensorsByName tensors) {
  for (auto& [name, tensor] : tensors) tensor = tensor.clone();
  return tensors;
}

report::RunReport report_of(const Settings& settings, const Strategy& strategy,
                            const executor::Program& program, const sim::Timeline* timeline) {
  const cli::Options& options = settings.options;
  report::RunReport report{.model = options.paths[0],
                           .strategy = cli::describe(strategy, program.processors),
                           .device = settings.device.name,
                           .options = options.session_json,
                           .micro_batches = strategy.batches_per_step * strategy.accumulation_factor,
                           .is_estimate = options.estimate,
                           .is_clocked = timeline != nullptr};
  if (timeline != nullptr) report.timeline = *timeline;
  return report;
}

template <class Session>
std::vector<ir::Datum> run_session(Session& session, const std::vector<ir::Datum>& data, double& seconds) {
  const auto start = WallClock::now();
  const std::span<const ir::Datum> outputs = session.run(data);
  seconds = seconds_since(start);
  return {outputs.begin(), outputs.end()};
}

}  // namespace

template <class Session>
Running<Session>::Running(const Model& model, Settings settings)
    : model_(model.name()), settings_(std::move(settings)), samples_(samples_of(model.imported().graph)) {}

template <class Session>
std::vector<Port> Running<Session>::inputs() const {
  return input_ports(session().inputs(), session().program().replicas);
}

template <class Session>
std::vector<Port> Running<Session>::outputs() const {
  return output_ports(session().program());
}

template <class Session>
const sim::Timeline& Running<Session>::timeline() const {
  if (session().timeline() == nullptr)
    throw Error("there are no times yet: data decide sizes, so that the first run is clocked");
  return *session().timeline();
}

template <class Session>
report::RunReport Running<Session>::facts() const {
  report::RunReport report =
      report_of(settings_, session().strategy(), session().program(), session().timeline());
  report.samples_per_micro_batch = static_cast<double>(samples_);
  report.prepare_seconds = prepare_seconds_;
  report.run_seconds = run_seconds_;
  return report;
}

template <class Session>
std::string Running<Session>::report() {
  return call(model_, &busy_, [&] { return to_json(facts()).dump(); });
}

template <class Session>
std::string Running<Session>::table() {
  const report::RunReport report = call(model_, &busy_, [&] { return facts(); });
  return report.timeline.fits() ? report::table(report::rows(report)) : report::overflow(report);
}

template <class Session>
std::string Running<Session>::trace() {
  return call(model_, &busy_, [&] {
    if (settings_.options.trace_file.empty())
      throw Error("the session keeps no events, events=True needed for its timeline");
    std::ostringstream text;
    const report::RunReport report = facts();
    report::write_trace({report.model, report.strategy, report.device, cli::program_name()}, report.timeline,
                        text);
    return text.str();
  });
}

template <class Session>
Notes Running<Session>::notes() {
  return call(model_, &busy_, [&] {
    Notes notes = settings_.options.notes;
    const Notes& found = session().notes();
    notes.insert(notes.end(), found.begin(), found.end());
    return notes;
  });
}

template <class Session>
void Running<Session>::check_can_run() const {
  if (session().can_run()) return;
  if (settings_.options.estimate) throw Error("{}: the session only estimates", model_);
  throw Error("{}: does not fit the device: {}", model_, report::memory_line(timeline()));
}

template class Running<InferenceSession>;
template class Running<TrainingSession>;

Inference::Inference(const Model& model, Settings settings) : Running(model, std::move(settings)) {
  const auto start = WallClock::now();
  importer::Model copy = model.imported();
  call(model_, nullptr,
       [&] { session_.emplace(in_precision(std::move(copy), settings_), session_options(settings_)); });
  prepare_seconds_ = seconds_since(start);
}

py::list Inference::run(const py::dict& feeds) {
  check_can_run();
  const std::vector<ir::Datum> data =
      data_of(feeds, session().inputs(), settings_.options, Integers::AsTheyAre);
  const auto outputs = call(model_, &busy_, [&] { return run_session(*session_, data, run_seconds_); });
  return objects_of(outputs, data);
}

void Inference::set_weights(const py::dict& values) {
  check_can_run();
  const TensorsByName tensors = tensors_of(values);
  call(model_, &busy_, [&] { session_->set_weights(copies(tensors)); });
}

Training::Training(const Model& model, Settings settings, const std::vector<std::string>& changing)
    : Running(model, std::move(settings)) {
  const auto start = WallClock::now();
  importer::Model copy = model.imported();
  call(model_, nullptr, [&] {
    cli::TrainingJob job = make_training_job(settings_.options, in_precision(std::move(copy), settings_));
    let_change(job.optimizer, changing);
    const TrainingOptions options = training_options(job, session_options(settings_));
    session_.emplace(std::move(job.model), options);
  });
  prepare_seconds_ = seconds_since(start);
}

py::list Training::run(const py::dict& feeds) {
  check_can_run();
  const std::vector<ir::Datum> data = data_of(feeds, session().inputs(), settings_.options, Integers::Cast);
  const auto outputs = call(model_, &busy_, [&] { return run_session(*session_, data, run_seconds_); });
  return objects_of(outputs, data);
}

double Training::loss() {
  return call(model_, &busy_, [&] { return session().loss(); });
}

std::vector<double> Training::losses() {
  return call(model_, &busy_, [&] {
    const std::span<const double> losses = session().losses();
    return std::vector<double>(losses.begin(), losses.end());
  });
}

std::int64_t Training::steps() {
  return call(model_, &busy_, [&] { return session().steps(); });
}

py::dict Training::weights() {
  check_can_run();
  return arrays_of(call(model_, &busy_, [&] { return copies(session().weights()); }));
}

py::dict Training::optimizer_state() {
  check_can_run();
  return arrays_of(call(model_, &busy_, [&] { return copies(session().optimizer_state()); }));
}

void Training::set_weights(const py::dict& values) {
  check_can_run();
  const TensorsByName tensors = tensors_of(values);
  call(model_, &busy_, [&] { session_->set_weights(copies(tensors)); });
}

void Training::set_optimizer(const std::string& text, const std::vector<std::string>& changing) {
  const bool is_file = cli::is_optimizer_file(text);
  ir::Optimizer optimizer = is_file ? cli::read_optimizer_file(text) : cli::read_optimizer(text);
  let_change(optimizer, changing);
  call(model_, &busy_, [&] {
    const ir::Optimizer& now = session().optimizer();
    // A text has no loss scale and no clipping, which are the session's then.
    if (!is_file) {
      optimizer.loss_scaling = now.loss_scaling;
      optimizer.clip_norms = now.clip_norms;
    }
    session_->update_optimizer(optimizer);
  });
}

void Training::save(const std::string& path) {
  check_can_run();
  call(model_, &busy_, [&] { session_->model_to_file(path); });
}

void Training::load(const std::string& path) {
  check_can_run();
  call(model_, &busy_, [&] {
    TensorsByName known = session_->weights();
    known.merge(session_->optimizer_state());
    const importer::Model saved = importer::import_model(path);
    TensorsByName values;
    for (const ir::Value& value : saved.graph.values) {
      if (value.constant && known.contains(value.name)) values[value.name] = *value.constant;
    }
    for (const auto& [name, tensor] : known) {
      if (!values.contains(name))
        throw Error("{}: '{}' is not in it, all weights and states needed", path, name);
    }
    session_->set_weights(values);
  });
}

}  // namespace podium::python
