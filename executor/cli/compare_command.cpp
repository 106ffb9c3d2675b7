// `podium compare`: strategies on one model, best first.
#include <fmt/format.h>

#include <algorithm>

#include "executor/cli/compare_training.h"
#include "executor/cli/compare_trials.h"
#include "executor/cli/machine.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/reference_run.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/stopwatch.h"
#include "executor/cli/write_file.h"
#include "executor/report/comparison.h"
#include "executor/session/session.h"

namespace podium::cli {
namespace {

using report::ComparedStrategy;

const std::vector<OptionGroup> kCompareGroups{OptionGroup::Data,         OptionGroup::Comparison,
                                              OptionGroup::Strategy,     OptionGroup::Compare,
                                              OptionGroup::TrainingStep, OptionGroup::Session};

struct Job {
  const Options& options;
  std::map<std::string, ir::Datum> given;  ///< inputs from files
  device::Device device;
  std::map<std::string, ir::Type> input_types = {};  ///< of a micro-batch, as files tell them
  importer::Model imported = {};
  importer::Model model = {};  ///< optimized
  std::vector<Trial> trials = {};
  std::optional<ReferenceRun> reference = {};
};

importer::Model optimized(const Job& job, importer::Model model) {
  try {
    optimize(model);
  } catch (const Error& error) {
    throw error.at(job.options.paths[0]);
  }
  return model;
}

// The optimized model with the annotations of a strategy, which nodes take only before the passes.
importer::Model placed(const Job& job, const Trial& trial) {
  importer::Model model = job.imported;
  annotate_trial(model, job.options, trial);
  return trial.strategy.annotations.is_null() ? job.model : optimized(job, std::move(model));
}

int micro_batches_of(const podium::Options& settings) {
  return settings.batches_per_step * settings.accumulation_factor * settings.replicas;
}

void run_numbers(InferenceSession& session, const Job& job, const Trial& trial, ComparedStrategy& compared) {
  if (!job.reference || !session.can_run()) return;
  const int micro_batches = micro_batches_of(trial.settings);
  const std::vector<ir::Datum> inputs = job.reference->inputs(micro_batches);
  const auto start = WallClock::now();
  const auto outputs = session.run(inputs);
  compared.run.run_seconds = seconds_since(start);
  compared.difference = job.reference->difference(outputs, micro_batches);
}

void try_strategy(const Job& job, const Trial& trial, ComparedStrategy& compared) {
  const auto start = WallClock::now();
  InferenceSession session(placed(job, trial), {.seed = job.options.seed,
                                                .threads = job.options.threads,
                                                .optimized = true,
                                                .strategy = trial.settings,
                                                .device = job.device,
                                                .clock = true,
                                                .estimate = job.options.estimate});
  compared.run.prepare_seconds = seconds_since(start);
  run_numbers(session, job, trial, compared);
  if (session.timeline() == nullptr) throw Error("cannot be clocked: {}", fmt::join(session.notes(), "; "));
  compared.run.timeline = *session.timeline();
}

Job make_job(const Options& options) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  Job job{.options = options, .given = read_inputs(options, signature), .device = machine_of(options)};
  // A file is one micro-batch unless the model or --dim says how large one is.
  if (options.dims.empty()) job.input_types = micro_batch_types(job.given, signature, {});
  job.imported = import(options, job.input_types);
  job.model = optimized(job, job.imported);
  const int asked = options.session.batches_per_step > 1 ? micro_batches_of(options.session) : 0;
  job.trials = make_trials(options, sensible_strategies,
                           strategy_request(options, job.device, job.model.graph, asked));
  return job;
}

void run_reference(Job& job) try {
  int most = 1;
  for (const Trial& trial : job.trials) most = std::max(most, micro_batches_of(trial.settings));
  job.reference.emplace(job.model, most, job.given, job.options);
} catch (const Error& error) {
  throw error.at(job.options.paths[0]);
}

std::vector<ComparedStrategy> compare_inference(const Options& options) {
  Job job = make_job(options);
  Progress progress("compare", job.trials.size(), options.quiet);
  if (!options.estimate) run_reference(job);
  std::vector<ComparedStrategy> compared;
  for (const Trial& trial : job.trials) {
    compared.push_back(attempt(options, trial, job.device.name, samples_of(job.model.graph),
                               [&](ComparedStrategy& result) { try_strategy(job, trial, result); }));
    progress.advance();
  }
  progress.finish();
  return compared;
}

// Whether every strategy that was run gave the numbers of one processor; says so.
bool agree(const std::vector<ComparedStrategy>& strategies, double tolerance) {
  const ComparedStrategy* worst = nullptr;
  for (const ComparedStrategy& strategy : strategies) {
    if (strategy.difference && (worst == nullptr || *strategy.difference > *worst->difference))
      worst = &strategy;
  }
  if (worst == nullptr) return true;
  const double largest = *worst->difference;
  if (largest == 0) {
    fmt::print("every strategy gave the numbers of one processor, bit for bit\n");
  } else if (largest <= tolerance) {
    fmt::print("every strategy gave the numbers of one processor; largest difference {:.2g} ({})\n", largest,
               worst->name);
  } else {
    fmt::print("the numbers differ from those of one processor by {:.2g} ({}), at most {:.2g} needed\n",
               largest, worst->name, tolerance);
  }
  return largest <= tolerance;
}

}  // namespace

int run_compare(const Arguments& arguments) {
  const Options options = parse("compare", arguments, kCompareGroups);
  if (options.help) {
    fmt::print(
        "{}",
        help("compare",
             "Clocks and runs strategies on one model, or trains it under them, and prints them best first.",
             kCompareGroups));
    return 0;
  }
  if (options.paths.size() != 1)
    throw UsageError("compare: {} models found, one needed", options.paths.size());
  check_files_to_write(options);
  std::vector<ComparedStrategy> compared =
      options.trains ? compare_training(options) : compare_inference(options);
  report::sort_best_first(compared);
  if (!options.report_file.empty()) {
    write_file(options.report_file, report::comparison_json(options.paths[0], compared).dump(2) + "\n");
  }
  fmt::print("{}", report::comparison_table(compared, options.trains));
  return agree(compared, options.relative) ? 0 : 1;
}

}  // namespace podium::cli
