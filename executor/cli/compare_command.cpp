// `podium compare`: strategies on one model, best first.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "annotate/rules.h"
#include "executor/cli/machine.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/reference_run.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/strategies.h"
#include "executor/cli/write_file.h"
#include "executor/report/comparison.h"
#include "executor/report/model_summary.h"
#include "executor/session/check_options.h"
#include "executor/session/place_model.h"
#include "executor/session/session.h"

namespace podium::cli {
namespace {

using Clock = std::chrono::steady_clock;
using report::ComparedStrategy;

const std::vector<OptionGroup> kGroups{OptionGroup::Data, OptionGroup::Comparison, OptionGroup::Strategy,
                                       OptionGroup::Compare, OptionGroup::Session};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Job {
  const Options& options;
  std::map<std::string, ir::Datum> given;  ///< inputs from files
  device::Device device;
  std::map<std::string, ir::Type> input_types = {};  ///< of a micro-batch, as files tell them
  importer::Model imported = {};
  importer::Model model = {};  ///< optimized
  std::vector<Strategy> strategies = {};
  std::vector<podium::Options> settings = {};  ///< of each strategy
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

// In an error or a note.
std::string where_is(const Options& options, const Strategy& strategy) {
  return options.strategies_file.empty() ? strategy.name : options.strategies_file + ": " + strategy.name;
}

// The optimized model with the annotations of a strategy, which nodes take, and a session checks, only before
// the passes.
importer::Model placed(const Job& job, const Strategy& strategy, const podium::Options& settings) {
  importer::Model model = job.imported;
  if (!strategy.annotations.is_null()) {
    const std::string where = where_is(job.options, strategy) + ": annotate";
    annotate::apply_rules(model.graph, annotate::read_rules(strategy.annotations.dump(), where));
  }
  if (const auto reason = why_illegal(settings)) throw Error(*reason);
  check_annotations(model, settings);
  check_overrides(settings, model.graph);
  return strategy.annotations.is_null() ? job.model : optimized(job, std::move(model));
}

int micro_batches_of(const podium::Options& settings) {
  return settings.batches_per_step * settings.accumulation_factor * settings.replicas;
}

std::vector<Strategy> strategies_of(const Options& options, const device::Device& device,
                                    const ir::Graph& graph) {
  if (!options.strategies_file.empty()) {
    return read_strategies(read_file(options.strategies_file), options.strategies_file, options.session_json);
  }
  const bool has_batches = options.session.batches_per_step > 1;
  return sensible_strategies(
      {.base = options.session_json,
       .processors = options.session.ipus > 0 ? options.session.ipus : device.processors,
       .micro_batches = has_batches ? micro_batches_of(options.session) : 0,
       .ops = static_cast<int>(graph.ops.size()),
       .batch = samples_of(graph),
       .weight_bytes = static_cast<std::int64_t>(report::summarize(graph).parameter_bytes),
       .memory_bytes = device.memory_bytes(),
       .tiles = device.tiles});
}

void run_numbers(InferenceSession& session, const Job& job, std::size_t index, ComparedStrategy& compared) {
  if (!job.reference || !session.can_run()) return;
  const int micro_batches = micro_batches_of(job.settings[index]);
  const std::vector<ir::Datum> inputs = job.reference->inputs(micro_batches);
  const auto start = Clock::now();
  const auto outputs = session.run(inputs);
  compared.run.run_seconds = seconds_since(start);
  compared.difference = job.reference->difference(outputs, micro_batches);
}

ComparedStrategy try_strategy(const Job& job, std::size_t index) {
  const podium::Options& settings = job.settings[index];
  ComparedStrategy compared{
      .name = job.strategies[index].name,
      .run = {.model = job.options.paths[0],
              .strategy = job.strategies[index].name,
              .device = job.device.name,
              .options = job.strategies[index].options,
              .micro_batches = settings.batches_per_step * settings.accumulation_factor,
              .samples_per_micro_batch = static_cast<double>(samples_of(job.model.graph)),
              .is_estimate = job.options.estimate}};
  try {
    const auto start = Clock::now();
    InferenceSession session(placed(job, job.strategies[index], settings),
                             {.seed = job.options.seed,
                              .threads = job.options.threads,
                              .optimized = true,
                              .strategy = settings,
                              .device = job.device,
                              .clock = true,
                              .estimate = job.options.estimate});
    compared.run.prepare_seconds = seconds_since(start);
    run_numbers(session, job, index, compared);
    if (session.timeline() == nullptr) throw Error("cannot be clocked: {}", fmt::join(session.notes(), "; "));
    compared.run.timeline = *session.timeline();
  } catch (const Error& error) {
    compared.refusal = error.what();
  } catch (const std::bad_alloc&) {
    compared.refusal = "out of memory on this machine";
  }
  return compared;
}

Job make_job(const Options& options) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  Job job{.options = options, .given = read_inputs(options, signature), .device = machine_of(options)};
  // A file is one micro-batch unless the model or --dim says how large one is.
  if (options.dims.empty()) job.input_types = micro_batch_types(job.given, signature, {});
  job.imported = import(options, job.input_types);
  job.model = optimized(job, job.imported);
  job.strategies = strategies_of(options, job.device, job.model.graph);
  Notes notes = options.notes;
  for (const Strategy& strategy : job.strategies) {
    Notes its_own;
    job.settings.push_back(read_options(strategy.options.dump(), where_is(options, strategy), its_own));
    if (!options.strategies_file.empty()) notes.insert(notes.end(), its_own.begin(), its_own.end());
  }
  print_notes(notes, options);
  return job;
}

void run_reference(Job& job) try {
  int most = 1;
  for (const podium::Options& settings : job.settings) most = std::max(most, micro_batches_of(settings));
  job.reference.emplace(job.model, most, job.given, job.options);
} catch (const Error& error) {
  throw error.at(job.options.paths[0]);
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
  const Options options = parse("compare", arguments, kGroups);
  if (options.help) {
    fmt::print("{}", help("compare", "Clocks and runs strategies on one model, and prints them best first.",
                          kGroups));
    return 0;
  }
  if (options.paths.size() != 1)
    throw UsageError("compare: {} models found, one needed", options.paths.size());
  Job job = make_job(options);
  Progress progress("compare", job.strategies.size(), options.quiet);
  if (!options.estimate) run_reference(job);
  std::vector<ComparedStrategy> compared;
  for (std::size_t i = 0; i < job.strategies.size(); ++i) {
    compared.push_back(try_strategy(job, i));
    progress.advance();
  }
  progress.finish();
  report::sort_best_first(compared);
  if (!options.report_file.empty()) {
    write_file(options.report_file, report::comparison_json(options.paths[0], compared).dump(2) + "\n");
  }
  fmt::print("{}", report::comparison_table(compared));
  return agree(compared, options.relative) ? 0 : 1;
}

}  // namespace podium::cli
