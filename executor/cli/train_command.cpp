// `podium train`: epochs over the samples, a line each, and the result table. A step takes the rows of all
// its micro-batches, in the order of the epoch; samples that fill no step are left out. After an epoch the
// held-out data are evaluated in a session of their own, which takes the weights as inputs, and the model is
// saved. Where a loss is no number, the step's first micro-batch with such a loss is run again to find the
// tensor that began it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "executor/cli/clocked_run.h"
#include "executor/cli/first_infinite.h"
#include "executor/cli/held_out.h"
#include "executor/cli/in_model.h"
#include "executor/cli/profiler.h"
#include "executor/cli/progress.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/training_job.h"
#include "executor/cli/what_ifs.h"
#include "executor/compare/results.h"
#include "executor/report/table.h"
#include "executor/session/option_words.h"
#include "executor/session/stopwatch.h"

namespace podium::cli {
namespace {

TrainingSession make_session(const TrainingJob& job) {
  const SessionOptions session = clocked_session(job.options);
  return in_model(job.options, [&] { return TrainingSession(job.model, training_options(job, session)); });
}

struct Epoch {
  double loss = 0;  ///< summed over the steps
  Tally tally = {};
  int steps = 0;
  WallClock::time_point start = WallClock::now();
};

// Goes through the epochs.
class Trainer {
 public:
  Trainer(const TrainingJob& job, TrainingSession& session, std::optional<HeldOut> held_out);

  void train();
  double median_seconds() const;
  const report::TrainingHistory& history() const { return history_; }

 private:
  void train_epoch(int epoch);
  void step(std::span<const std::int64_t> rows, Epoch& result);
  std::span<const ir::Datum> run(const std::vector<ir::Datum>& inputs, std::span<const std::int64_t> rows);
  std::string origin_of_bad_loss(const TensorsByName& weights, std::span<const std::int64_t> rows) const;
  void set_learning_rate();
  void count_right(const std::vector<ir::Datum>& inputs, std::span<const ir::Datum> outputs,
                   Epoch& result) const;
  std::string line(int epoch, const Epoch& result);
  std::string step_line() const;
  std::optional<double> gradient_norm(std::span<const ir::Datum> outputs) const;
  void check_weights() const;
  void save(int epoch);

  const TrainingJob& job_;
  const TrainOptions& train_;
  TrainingSession& session_;
  std::optional<HeldOut> held_out_;
  std::int64_t samples_per_step_ = 1;
  std::int64_t steps_per_epoch_ = 1;
  std::int64_t steps_ = 0;  ///< in all
  int epochs_ = 1;
  int saved_epoch_ = 0;
  Progress progress_;
  report::TrainingHistory history_;
};

double Trainer::median_seconds() const {
  std::vector<double> seconds;
  for (const report::TrainedStep& step : history_.steps) seconds.push_back(step.seconds);
  return median(std::move(seconds));
}

// Flags with which so few samples are enough; none where nothing but data helps.
std::string flags_for(std::int64_t samples, std::int64_t micro_batch, const Strategy& strategy) {
  const std::int64_t micro_batches = samples / (micro_batch * strategy.replicas);
  if (micro_batches >= strategy.accumulation_factor)
    return fmt::format("--batches-per-step {}", micro_batches / strategy.accumulation_factor);
  std::string flags;
  if (strategy.batches_per_step > 1) flags += " --batches-per-step 1";
  if (strategy.accumulation_factor > 1)
    flags += fmt::format(" --accumulate {}", std::max<std::int64_t>(1, micro_batches));
  if (micro_batches == 0) flags += fmt::format(" --micro-batch {}", samples / strategy.replicas);
  return samples < strategy.replicas ? "" : flags.substr(1);
}

std::int64_t count_samples(const TrainingJob& job, const TrainingSession& session) {
  const executor::HostTensor& input = session.inputs().at(0);
  const std::int64_t micro_batch = samples_of_micro_batch(input, job.samples.axes);
  const int replicas = session.program().replicas;
  const std::int64_t needed = micro_batch * input.micro_batches * replicas;
  if (job.samples.count >= needed) return needed;
  const std::string flags = flags_for(job.samples.count, micro_batch, session.strategy());
  throw Error("{}: {} samples found, a step needs {}: micro-batch {} x {} micro-batches x {} replicas{}",
              job.samples.files.begin()->second, job.samples.count, needed, micro_batch, input.micro_batches,
              replicas, flags.empty() ? "" : fmt::format("; they are enough with {}", flags));
}

std::int64_t count_steps(const TrainingJob& job, std::int64_t per_epoch) {
  const TrainOptions& train = job.options.train;
  if (train.epochs == 0 && train.steps > 0) return train.steps;
  const std::int64_t steps = per_epoch * std::max(train.epochs, 1);
  return train.steps > 0 ? std::min<std::int64_t>(steps, train.steps) : steps;
}

Trainer::Trainer(const TrainingJob& job, TrainingSession& session, std::optional<HeldOut> held_out)
    : job_(job),
      train_(job.options.train),
      session_(session),
      held_out_(std::move(held_out)),
      samples_per_step_(count_samples(job, session)),
      steps_per_epoch_(job.samples.count / samples_per_step_),
      steps_(count_steps(job, steps_per_epoch_)),
      epochs_(static_cast<int>((steps_ + steps_per_epoch_ - 1) / steps_per_epoch_)),
      progress_("steps", static_cast<std::size_t>(steps_), job.options.quiet) {
  const std::int64_t left = job.samples.count % samples_per_step_;
  if (left == 0) return;
  print_notes({fmt::format("the last {} samples of an epoch fill no step of {} and are left out", left,
                           samples_per_step_)},
              job.options);
}

void Trainer::train() {
  for (int epoch = 1; epoch <= epochs_; ++epoch) {
    try {
      train_epoch(epoch);
    } catch (const Error& error) {
      if (saved_epoch_ == 0) throw;
      throw Error("{}; {} holds the model after epoch {}", error.what(), train_.save_file, saved_epoch_);
    }
  }
}

void Trainer::train_epoch(int epoch) {
  const std::vector<std::int64_t> order = order_of_rows(job_.samples.count, train_.shuffle, epoch);
  Epoch result;
  for (std::int64_t i = 0; i < steps_per_epoch_ && session_.steps() < steps_; ++i) {
    step(std::span(order).subspan(static_cast<std::size_t>(i * samples_per_step_),
                                  static_cast<std::size_t>(samples_per_step_)),
         result);
  }
  check_weights();
  const std::string text = line(epoch, result);
  save(epoch);
  progress_.print(text);
  std::fflush(stdout);
}

// The loss is that of the weights before the last update: what the update made of them is not seen in it.
void Trainer::check_weights() const {
  if (const auto name = session_.first_infinite()) {
    throw Error("step {}: '{}' is not finite after it", session_.steps(), *name);
  }
}

void Trainer::save(int epoch) {
  if (train_.save_file.empty()) return;
  session_.model_to_file(train_.save_file);
  saved_epoch_ = epoch;
}

void Trainer::step(std::span<const std::int64_t> rows, Epoch& result) {
  set_learning_rate();
  const std::vector<ir::Datum> inputs = take_rows(job_.samples, rows, session_.inputs());
  const auto start = WallClock::now();
  const auto outputs = run(inputs, rows);
  history_.steps.push_back({session_.loss(), session_.optimizer().defaults.at("learningRate").value,
                            seconds_since(start), gradient_norm(outputs)});
  result.loss += session_.loss();
  ++result.steps;
  count_right(inputs, outputs, result);
  progress_.advance(1, fmt::format("loss {:.4g}", session_.loss()));
  if (train_.log_every > 0 && session_.steps() % train_.log_every == 0) progress_.print(step_line());
}

std::string Trainer::step_line() const {
  std::string text = fmt::format("step {} of {}  loss {:.4f}", session_.steps(), steps_, session_.loss());
  const std::optional<double> norm = history_.steps.back().gradient_norm;
  return norm ? text + fmt::format("  gradient norm {:.4g}", *norm) : text;
}

// Of the last update. Groups of weights that are clipped each for themselves count together.
std::optional<double> Trainer::gradient_norm(std::span<const ir::Datum> outputs) const {
  if (!train_.gradient_norm) return std::nullopt;
  double squares = 0;
  for (std::size_t group = 0; group < session_.optimizer().clip_norms.size(); ++group) {
    const auto& names = session_.outputs();
    const auto found = std::ranges::find(names, name_of_norm(group), &executor::HostTensor::name);
    IR_CHECK(found != names.end(), "the norm of the gradients is no output");
    const ir::Tensor& norms = outputs[found - names.begin()].tensor;
    const double norm = compare::element_as_double(norms, norms.size() - 1);
    squares += norm * norm;
  }
  return std::sqrt(squares);
}

// The weights before the step share memory with the session's: they cost as much again only once it has
// others.
std::span<const ir::Datum> Trainer::run(const std::vector<ir::Datum>& inputs,
                                        std::span<const std::int64_t> rows) {
  const TensorsByName weights = session_.weights(Retrieval::FirstReplica);
  try {
    return session_.run(inputs);
  } catch (const Error& error) {
    throw Error("{}{}", error.what(), origin_of_bad_loss(weights, rows));
  }
}

// Of the first update of a step, whose weights are known.
std::string Trainer::origin_of_bad_loss(const TensorsByName& weights,
                                        std::span<const std::int64_t> rows) const {
  const std::span<const double> losses = session_.losses();
  const auto bad =
      std::find_if(losses.begin(), losses.end(), [](double loss) { return !std::isfinite(loss); });
  if (bad == losses.end()) return "";
  const std::int64_t micro_batch = samples_per_step_ / std::ssize(losses);
  const std::int64_t first = (bad - losses.begin()) * micro_batch;
  if (first >= samples_per_step_ / job_.options.session.batches_per_step) return "";
  const auto name =
      first_infinite(job_.model, weights, job_.samples,
                     rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(micro_batch)),
                     {.seed = job_.options.seed, .threads = job_.options.threads});
  return name ? fmt::format("; before it, the first is '{}'", *name) : "";
}

void Trainer::set_learning_rate() {
  const std::optional<double> rate = job_.schedule.at(session_.steps());
  if (!rate) return;
  ir::Optimizer optimizer = session_.optimizer();
  optimizer.defaults.at("learningRate").value = *rate;
  session_.update_optimizer(optimizer);
}

// Where all scores come back.
void Trainer::count_right(const std::vector<ir::Datum>& inputs, std::span<const ir::Datum> outputs,
                          Epoch& result) const {
  if (!job_.classes) return;
  const auto named = [](const std::string& name) {
    return [&name](const executor::HostTensor& tensor) { return tensor.name == name; };
  };
  const auto& [ins, outs] = std::tie(session_.inputs(), session_.outputs());
  const auto labels = std::find_if(ins.begin(), ins.end(), named(job_.classes->labels)) - ins.begin();
  const auto scores = std::find_if(outs.begin(), outs.end(), named(job_.classes->scores)) - outs.begin();
  const ir::Tensor& found = outputs[scores].tensor;
  const ir::Tensor& wanted = inputs[labels].tensor;
  if (found.size() == wanted.size() * job_.classes->count) result.tally.add(*job_.classes, found, wanted);
}

std::string Trainer::line(int epoch, const Epoch& result) {
  report::TrainedEpoch& figures = history_.epochs.emplace_back();
  figures.steps = session_.steps();
  figures.loss = result.loss / result.steps;
  std::string text = fmt::format("epoch {} of {}  loss {:.4f}", epoch, epochs_, figures.loss);
  if (result.tally.all > 0) figures.accuracy = result.tally.percent() / 100;
  if (figures.accuracy) text += fmt::format("  accuracy {:.2f}%", result.tally.percent());
  figures.seconds = seconds_since(result.start);
  if (held_out_) {
    const Score score = held_out_->evaluate(session_.weights(Retrieval::FirstReplica));
    figures.held_out_loss = score.loss;
    text += fmt::format("  held-out loss {:.4f}", score.loss);
    if (score.tally.all > 0) figures.held_out_accuracy = score.tally.percent() / 100;
    if (figures.held_out_accuracy) text += fmt::format("  accuracy {:.2f}%", score.tally.percent());
  }
  if (const sim::Timeline* timeline = session_.timeline()) {
    figures.simulated_seconds = timeline->makespan * result.steps;
    text += fmt::format("  {} simulated", report::duration(figures.simulated_seconds));
  }
  return text + fmt::format("  {} real", report::duration(figures.seconds));
}

std::optional<HeldOut> make_held_out(const TrainingJob& job, const TrainingSession& session) {
  if (!job.held_out) return std::nullopt;
  const Options& options = job.options;
  HeldOut held_out(job.model, job.loss, session.weights(Retrieval::FirstReplica), job.classes, *job.held_out,
                   {.seed = options.seed, .threads = options.threads});
  if (const std::int64_t left = held_out.left_out(); left > 0) {
    print_notes({fmt::format("the last {} held-out samples fill no micro-batch and are left out", left)},
                options);
  }
  return held_out;
}

// They are in the session now.
void forget(importer::Model& model, const TensorsByName& weights) {
  for (ir::Value& value : model.graph.values) {
    if (weights.contains(value.name)) value.constant.reset();
  }
}

// The device would make inputs of its own, and the data would train nothing.
void check_trains_on_data(const Options& options) {
  const SyntheticData mode = options.session.synthetic_data;
  if (mode == SyntheticData::Off || options.estimate) return;
  throw Error("syntheticDataMode: {} found, Off needed to train (--estimate clocks a step with it)",
              word_of(mode));
}

}  // namespace

report::RunReport estimate_train(const Options& options) {
  const TrainingJob job = in_model(options, [&] { return make_training_job(options); });
  const TrainingSession session = make_session(job);
  report::RunReport report =
      start_report(options, session.strategy(), session.program(), samples_of(job.model.graph));
  add_times(report, session.timeline());
  report.bound = session.bound();
  report.reshardings = reported(session.reshardings());
  return report;
}

int execute_train(const Options& options) {
  const auto start = WallClock::now();
  check_trains_on_data(options);
  check_files_to_write(options);
  show_activity(fmt::format("importing {}", options.paths[0]), options);
  TrainingJob job = in_model(options, [&] { return make_training_job(options); });
  show_activity("preparing", options);
  TrainingSession session = make_session(job);
  print_notes(session.notes(), options);
  const bool has_data = !job.samples.arrays.empty();  // an estimate needs none
  if (has_data) in_model(options, [&] { check_samples(job.samples, session.inputs()); });
  report::RunReport report = start_report(options, session.strategy(), session.program(),
                                          samples_of(job.model.graph, job.samples.axes));
  report.prepare_seconds = seconds_since(start);
  add_details(report, options, session.program(), session.timeline(), names_of_values(job.model.graph));
  add_model_file(report, options);
  print_schedule(options, session.strategy(), session.program().processors,
                 session.strategy().accumulation_factor);
  if (session.can_run()) {
    // Beside the session only what its first replica computes is looked at.
    job.model = of_first_replica(std::move(job.model), options.session.replicas);
    std::optional<HeldOut> held_out = in_model(options, [&] { return make_held_out(job, session); });
    forget(job.model, session.weights());
    Trainer trainer(job, session, std::move(held_out));
    in_model(options, [&] { trainer.train(); });
    report.run_seconds = trainer.median_seconds();
    report.training = trainer.history();
  }
  // Where data decides sizes, the first step has told them.
  add_times(report, session.timeline());
  report.bound = session.bound();
  report.reshardings = reported(session.reshardings());
  const std::size_t ops = job.model.graph.ops.size();
  report.what_ifs = what_ifs_of_run(
      options, report, Task::Training, ops,
      on_better_machines(options, report, ops,
                         [&](const device::Device& device) { return session.clocked_on(device); }));
  if (report.is_clocked) return finish_report(options, report);
  write_report_files(options, report);
  return kDone;
}

}  // namespace podium::cli
