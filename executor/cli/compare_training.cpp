#include "executor/cli/compare_training.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "executor/cli/compare.h"
#include "executor/cli/compare_trials.h"
#include "executor/cli/in_model.h"
#include "executor/cli/machine.h"
#include "executor/cli/progress.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/stopwatch.h"
#include "executor/cli/training_job.h"

namespace podium::cli {
namespace {

// What the numbers of a step depend on: updates, micro-batches of each, how these are added up.
using Step = std::tuple<int, int, Reduction, MeanStrategy, bool>;

Step step_of(const podium::Options& settings) {
  return {settings.batches_per_step, settings.accumulation_factor * settings.replicas, settings.reduction,
          settings.mean_strategy, settings.loss_scaling.automatic};
}

podium::Options on_one_processor(const podium::Options& settings) {
  return {.batches_per_step = settings.batches_per_step,
          .accumulation_factor = settings.accumulation_factor * settings.replicas,
          .reduction = settings.reduction,
          .mean_strategy = settings.mean_strategy,
          .loss_scaling = settings.loss_scaling};
}

std::int64_t samples_of_step(const TrainingSession& session, const podium::Options& settings) {
  const std::int64_t micro_batch = whole_type(session.inputs().at(0)).dims[0];
  return micro_batch * settings.batches_per_step * settings.accumulation_factor * settings.replicas;
}

TensorsByName trained_weights(const TrainingSession& session) {
  TensorsByName weights = session.weights();
  for (const auto& [name, statistic] : session.statistics()) weights.erase(name);
  return weights;
}

class Contest {
 public:
  explicit Contest(const Options& options)
      : options_(options),
        device_(machine_of(options)),
        job_(in_model(options, [&] { return make_training_job(options); })) {}

  std::vector<report::ComparedStrategy> run();

 private:
  std::vector<Trial> trials() const;
  void run_references(const std::vector<Trial>& trials);
  void try_strategy(const Trial& trial, report::ComparedStrategy& compared) const;
  void draw_missing(const TrainingSession& session, std::int64_t count);
  void train(TrainingSession& session, const podium::Options& settings) const;
  double difference(const TrainingSession& session, const podium::Options& settings) const;

  const Options& options_;
  device::Device device_;
  TrainingJob job_;
  std::map<Step, TensorsByName> references_;  // weights after the step
};

std::vector<Trial> Contest::trials() const {
  const int asked = options_.session.accumulation_factor * options_.session.replicas;
  return make_trials(options_, sensible_training_strategies,
                     strategy_request(options_, device_, job_.model.graph, asked > 1 ? asked : 0));
}

// Data that no file holds, as many samples as the files have.
void Contest::draw_missing(const TrainingSession& session, std::int64_t count) {
  Samples& samples = job_.samples;
  if (samples.arrays.empty()) samples.count = count;
  for (const executor::HostTensor& input : session.inputs()) {
    if (samples.arrays.contains(input.name)) continue;
    ir::Type type = whole_type(input);
    if (type.rank() == 0) continue;  // check_samples says so
    type.dims[0] = samples.count;
    samples.arrays[input.name] = random_input(input.name, type, options_.random_seed).tensor;
    samples.files[input.name] = "random values of " + input.name;
  }
  check_samples(samples, session.inputs());
}

void Contest::train(TrainingSession& session, const podium::Options& settings) const {
  std::vector<std::int64_t> rows(static_cast<std::size_t>(samples_of_step(session, settings)));
  std::iota(rows.begin(), rows.end(), 0);
  for (std::int64_t& row : rows) row %= job_.samples.count;
  session.run(take_rows(job_.samples, rows, session.inputs()));
}

// A weight that not all replicas share learns from a part of the samples.
void check_shares_weights(const importer::Model& model, int replicas) {
  const GroupsByName groups = own_groups(model.info, replicas);
  if (groups.empty()) return;
  throw Error(
      "initializer '{}' has a value for each group of replicas, a step on one processor has nothing to "
      "compare with (--estimate clocks the strategies)",
      groups.begin()->first);
}

// The steps of all strategies on one processor; the longest first, so that enough samples are drawn.
void Contest::run_references(const std::vector<Trial>& trials) {
  check_shares_weights(job_.model, options_.session.replicas);
  std::map<Step, podium::Options> steps;
  for (const Trial& trial : trials) steps.emplace(step_of(trial.settings), on_one_processor(trial.settings));
  std::vector<std::pair<Step, podium::Options>> ordered(steps.begin(), steps.end());
  const auto length = [](const auto& step) { return std::get<0>(step.first) * std::get<1>(step.first); };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto& a, const auto& b) { return length(a) > length(b); });
  for (const auto& [step, settings] : ordered) {
    TrainingSession session(
        job_.model,
        training_options(job_, {.seed = options_.seed, .threads = options_.threads, .strategy = settings}));
    draw_missing(session, samples_of_step(session, settings));
    train(session, settings);
    references_[step] = trained_weights(session);
  }
}

double Contest::difference(const TrainingSession& session, const podium::Options& settings) const {
  double largest = 0;
  const TensorsByName& wanted = references_.at(step_of(settings));
  for (const auto& [name, weight] : trained_weights(session)) {
    largest = std::max(largest, largest_difference(weight, wanted.at(name)));
  }
  return largest;
}

void Contest::try_strategy(const Trial& trial, report::ComparedStrategy& compared) const {
  importer::Model model = job_.model;
  annotate_trial(model, options_, trial);
  auto start = WallClock::now();
  TrainingSession session(std::move(model), training_options(job_, {.seed = options_.seed,
                                                                    .threads = options_.threads,
                                                                    .strategy = trial.settings,
                                                                    .device = device_,
                                                                    .clock = true,
                                                                    .estimate = options_.estimate}));
  compared.run.prepare_seconds = seconds_since(start);
  if (session.timeline() == nullptr) throw Error("cannot be clocked: {}", fmt::join(session.notes(), "; "));
  compared.run.timeline = *session.timeline();
  if (!session.can_run()) return;
  start = WallClock::now();
  train(session, trial.settings);
  compared.run.run_seconds = seconds_since(start);
  compared.difference = difference(session, trial.settings);
}

std::vector<report::ComparedStrategy> Contest::run() {
  const std::vector<Trial> trials = this->trials();
  Progress progress("compare", trials.size(), options_.quiet);
  if (!options_.estimate) in_model(options_, [&] { run_references(trials); });
  std::vector<report::ComparedStrategy> compared;
  for (const Trial& trial : trials) {
    compared.push_back(attempt(options_, trial, device_.name, samples_of(job_.model.graph),
                               [&](report::ComparedStrategy& result) { try_strategy(trial, result); }));
    progress.advance();
  }
  progress.finish();
  return compared;
}

}  // namespace

std::vector<report::ComparedStrategy> compare_training(const Options& options) {
  return Contest(options).run();
}

}  // namespace podium::cli
