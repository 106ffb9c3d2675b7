// Candidates that make the same updates, from as many micro-batches added up in the same way, share a
// reference: the weights after that step on one processor.
#include "executor/compare/compare_training.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>

#include "executor/compare/oracle.h"
#include "executor/compare/results.h"
#include "executor/session/host_arrays.h"
#include "executor/session/stopwatch.h"

namespace podium::compare {
namespace {

// What the numbers of a step depend on: updates, micro-batches of each, how these are added up.
using Step = std::tuple<int, std::int64_t, Reduction, MeanStrategy, bool>;

Step step_of(const Strategy& settings) {
  return {settings.batches_per_step, std::int64_t{settings.accumulation_factor} * settings.replicas,
          settings.reduction, settings.mean_strategy, settings.loss_scaling.automatic};
}

Strategy on_one_processor(const Strategy& settings) {
  return {.batches_per_step = settings.batches_per_step,
          .accumulation_factor = settings.accumulation_factor * settings.replicas,
          .reduction = settings.reduction,
          .mean_strategy = settings.mean_strategy,
          .loss_scaling = settings.loss_scaling};
}

std::int64_t samples_of_step(const TrainingSession& session, const SampleAxes& axes,
                             const Strategy& settings) {
  const std::int64_t micro_batch = samples_of_micro_batch(session.inputs().at(0), axes);
  return micro_batch * settings.batches_per_step * settings.accumulation_factor * settings.replicas;
}

TensorsByName trained_weights(const TrainingSession& session) {
  TensorsByName weights = session.weights();
  for (const auto& [name, statistic] : session.statistics()) weights.erase(name);
  return weights;
}

class Contest {
 public:
  explicit Contest(TrainingContest contest) : given_(std::move(contest)) {}

  void run_references(const std::vector<Candidate>& candidates);
  void try_candidate(const Candidate& candidate, report::ComparedStrategy& compared) const;
  const TrainingContest& given() const { return given_; }

 private:
  void train(TrainingSession& session, const Strategy& settings) const;
  InputsOfStep steps_of(std::int64_t samples) const;
  void run_plain_steps(const Step& step, const Strategy& settings);
  report::OracleVerdict ask_oracle(const Candidate& candidate, const importer::Model& model) const;
  double difference(const TrainingSession& session, const Strategy& settings) const;

  TrainingContest given_;
  std::map<Step, TensorsByName> references_;  // weights after the step
  std::map<Step, PlainSteps> plain_;          // what strategies that are followed are held against
};

void Contest::train(TrainingSession& session, const Strategy& settings) const {
  std::vector<std::int64_t> rows(samples_of_step(session, given_.samples.axes, settings));
  std::iota(rows.begin(), rows.end(), 0);
  for (std::int64_t& row : rows) row %= given_.samples.count;
  session.run(take_rows(given_.samples, rows, session.inputs()));
}

// Each step takes the samples behind those of the step before, over and over again.
InputsOfStep Contest::steps_of(std::int64_t samples) const {
  return [this, samples](int step, const std::vector<executor::HostTensor>& inputs) {
    std::vector<std::int64_t> rows(samples);
    std::iota(rows.begin(), rows.end(), samples * step);
    for (std::int64_t& row : rows) row %= given_.samples.count;
    return take_rows(given_.samples, rows, inputs);
  };
}

void Contest::run_plain_steps(const Step& step, const Strategy& settings) {
  const Setting& setting = given_.setting;
  TrainingSession session(
      given_.model,
      given_.options(watching({.seed = setting.seed, .threads = setting.threads, .strategy = settings})));
  plain_[step] = run_plainly(session, setting.oracle_steps,
                             steps_of(samples_of_step(session, given_.samples.axes, settings)));
}

report::OracleVerdict Contest::ask_oracle(const Candidate& candidate, const importer::Model& model) const {
  const Setting& setting = given_.setting;
  const Strategy& strategy = candidate.strategy;
  if (const auto reason = why_not_judged(strategy, Task::Training)) return {.why_not = *reason};
  try {
    TrainingSession session(model, given_.options(watching({.seed = setting.seed,
                                                            .threads = setting.threads,
                                                            .strategy = strategy,
                                                            .device = setting.device})));
    return judge(session, plain_.at(step_of(strategy)),
                 steps_of(samples_of_step(session, given_.samples.axes, strategy)),
                 {.tolerance = setting.tolerance, .seed = setting.seed, .threads = setting.threads});
  } catch (const Error& error) {
    return {.why_not = error.what()};
  }
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
void Contest::run_references(const std::vector<Candidate>& candidates) {
  const Setting& setting = given_.setting;
  check_shares_weights(given_.model, setting.replicas);
  std::map<Step, Strategy> steps;
  for (const Candidate& candidate : candidates)
    steps.emplace(step_of(candidate.strategy), on_one_processor(candidate.strategy));
  std::vector<std::pair<Step, Strategy>> ordered(steps.begin(), steps.end());
  const auto length = [](const auto& step) { return std::get<0>(step.first) * std::get<1>(step.first); };
  std::stable_sort(ordered.begin(), ordered.end(),
                   [&](const auto& a, const auto& b) { return length(a) > length(b); });
  for (const auto& [step, settings] : ordered) {
    TrainingSession session(
        given_.model,
        given_.options({.seed = setting.seed, .threads = setting.threads, .strategy = settings}));
    const std::int64_t samples = samples_of_step(session, given_.samples.axes, settings);
    draw_missing(given_.samples, session.inputs(), session.ids(), samples * std::max(1, setting.oracle_steps),
                 setting.random_seed);
    train(session, settings);
    references_[step] = trained_weights(session);
    if (setting.oracle_steps > 0) run_plain_steps(step, settings);
  }
}

double Contest::difference(const TrainingSession& session, const Strategy& settings) const {
  double largest = 0;
  const TensorsByName& wanted = references_.at(step_of(settings));
  for (const auto& [name, weight] : trained_weights(session)) {
    largest = std::max(largest, largest_difference(weight, wanted.at(name)));
  }
  return largest;
}

void Contest::try_candidate(const Candidate& candidate, report::ComparedStrategy& compared) const {
  const Setting& setting = given_.setting;
  importer::Model model = given_.model;
  apply_annotations(model, candidate, setting);
  auto start = WallClock::now();
  const auto held = std::make_shared<TrainingSession>(model, given_.options({.seed = setting.seed,
                                                                             .threads = setting.threads,
                                                                             .strategy = candidate.strategy,
                                                                             .device = setting.device,
                                                                             .clock = true,
                                                                             .events = setting.draws,
                                                                             .estimate = setting.estimate,
                                                                             .bounds = setting.bounds}));
  TrainingSession& session = *held;
  compared.run.prepare_seconds = seconds_since(start);
  if (session.can_run()) {
    start = WallClock::now();
    train(session, candidate.strategy);
    compared.run.run_seconds = seconds_since(start);
    compared.difference = difference(session, candidate.strategy);
    if (setting.oracle_steps > 0) compared.oracle = ask_oracle(candidate, model);
  }
  if (session.timeline() == nullptr) throw Error("cannot be clocked: {}", fmt::join(session.notes(), "; "));
  compared.run.timeline = *session.timeline();
  compared.run.bound = session.bound();
  if (setting.keeps_best)
    compared.clocked_on = [held](const device::Device& device) { return held->clocked_on(device); };
}

}  // namespace

std::vector<report::ComparedStrategy> compare_training(TrainingContest given,
                                                       const std::vector<Candidate>& candidates,
                                                       const Advance& advance) {
  Contest contest(std::move(given));
  const Setting& setting = contest.given().setting;
  if (!setting.estimate) contest.run_references(candidates);
  const std::int64_t samples = samples_of(contest.given().model.graph, contest.given().samples.axes);
  const auto run = [&](const Candidate& candidate, report::ComparedStrategy& compared) {
    contest.try_candidate(candidate, compared);
  };
  return attempt_all(candidates, setting, samples, run, advance);
}

}  // namespace podium::compare
