// `podium compare`: strategies on one model, best first.
#include <fmt/format.h>

#include "executor/cli/compare_candidates.h"
#include "executor/cli/in_model.h"
#include "executor/cli/machine.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/training_job.h"
#include "executor/cli/write_file.h"
#include "executor/compare/compare_inference.h"
#include "executor/compare/compare_training.h"
#include "executor/session/json_rows.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

using compare::Candidate;
using report::ComparedStrategy;

compare::Setting setting_of(const Options& options) {
  return {.model = options.paths[0],
          .device = machine_of(options),
          .seed = options.seed,
          .random_seed = options.random_seed,
          .threads = options.threads,
          .replicas = options.session.replicas,
          .estimate = options.estimate};
}

compare::InferenceContest make_contest(const Options& options) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  compare::InferenceContest contest{.setting = setting_of(options), .given = read_inputs(options, signature)};
  // A file is one micro-batch unless the model or --dim says how large one is.
  std::map<std::string, ir::Type> types;
  if (options.dims.empty()) types = micro_batch_types(contest.given, signature, {});
  contest.imported = import(options, types);
  contest.optimized = contest.imported;
  optimize(contest.optimized);
  for (auto& [name, datum] : contest.given) datum = in_precision(datum, options);
  return contest;
}

std::vector<ComparedStrategy> compare_inference(const Options& options) {
  const compare::InferenceContest contest = in_model(options, [&] { return make_contest(options); });
  const Strategy& asked = options.session;
  const int micro_batches =
      asked.batches_per_step > 1 ? asked.batches_per_step * asked.accumulation_factor * asked.replicas : 0;
  const std::vector<Candidate> candidates =
      candidates_of(options, contest.setting.device, contest.optimized.graph, micro_batches);
  Progress progress("compare", candidates.size(), options.quiet);
  auto compared = in_model(
      options, [&] { return compare::compare_inference(contest, candidates, [&] { progress.advance(); }); });
  progress.finish();
  return compared;
}

std::vector<ComparedStrategy> compare_training(const Options& options) {
  const TrainingJob job = in_model(options, [&] { return make_training_job(options); });
  const compare::Setting setting = setting_of(options);
  const int asked = options.session.accumulation_factor * options.session.replicas;
  const std::vector<Candidate> candidates =
      candidates_of(options, setting.device, job.model.graph, asked > 1 ? asked : 0);
  Progress progress("compare", candidates.size(), options.quiet);
  const auto training = [&](SessionOptions session) { return training_options(job, std::move(session)); };
  auto compared = in_model(options, [&] {
    return compare::compare_training({setting, job.model, job.samples, training}, candidates,
                                     [&] { progress.advance(); });
  });
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
    show("every strategy gave the numbers of one processor, bit for bit\n");
  } else if (largest <= tolerance) {
    show(fmt::format("every strategy gave the numbers of one processor; largest difference {:.2g} ({})\n",
                     largest, worst->name));
  } else {
    show(fmt::format("the numbers differ from those of one processor by {:.2g} ({}), at most {:.2g} needed\n",
                     largest, worst->name, tolerance));
  }
  return largest <= tolerance;
}

}  // namespace

int execute_compare(const Options& options) {
  check_files_to_write(options);
  std::vector<ComparedStrategy> compared =
      options.trains ? compare_training(options) : compare_inference(options);
  report::sort_best_first(compared);
  if (!options.report_file.empty()) {
    write_file(options.report_file, json_text(report::comparison_json(options.paths[0], compared)) + "\n");
  }
  const auto columns = options.trains ? report::Columns::TimesAndTraffic : report::Columns::Times;
  show(report::comparison_table(compared, columns));
  return agree(compared, options.relative) ? kDone : kFailed;
}

}  // namespace podium::cli
