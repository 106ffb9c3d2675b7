#include "executor/cli/contestants.h"

#include <memory>

#include "executor/cli/compare_candidates.h"
#include "executor/cli/in_model.h"
#include "executor/cli/machine.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/training_job.h"
#include "executor/cli/what_ifs.h"
#include "executor/compare/compare_inference.h"
#include "executor/compare/compare_training.h"

namespace podium::cli {
namespace {

using compare::Candidate;

compare::Setting setting_of(const Options& options) {
  return {.model = options.paths[0],
          .device = machine_of(options),
          .seed = options.seed,
          .random_seed = options.random_seed,
          .threads = options.threads,
          .replicas = options.session.replicas,
          .estimate = options.estimate,
          .draws = !options.html_file.empty(),
          .oracle_steps = options.compare.oracle ? options.compare.oracle_steps : 0,
          .tolerance = options.relative};
}

compare::Setting setting_of(const compare::Setting& from, Trial trial, const device::Device& device,
                            const Options& options, std::size_t ops) {
  compare::Setting setting = from;
  setting.device = device;
  setting.estimate = from.estimate || trial != Trial::Numbers;
  const bool is_time_alone = trial == Trial::WhatIf || trial == Trial::Base;
  setting.draws = from.draws && !is_time_alone;
  setting.bounds = !is_time_alone;
  if (trial == Trial::Clock || trial == Trial::Base) {
    setting.keeps_best = [&options, ops, trial](const Candidate& candidate, const report::RunReport& run) {
      return trial == Trial::Base || explains_best(options, run, candidate.strategy, ops);
    };
  }
  if (setting.estimate) setting.oracle_steps = 0;
  return setting;
}

compare::InferenceContest make_contest(const Options& options, const Strategy& in_files) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  compare::InferenceContest contest{.setting = setting_of(options), .given = read_inputs(options, signature)};
  // The model or --dim may say how large a micro-batch is.
  std::map<std::string, ir::Type> types;
  if (options.dims.empty()) types = micro_batch_types(contest.given, signature, in_files);
  contest.imported = import_sized(options, types);
  contest.optimized = contest.imported;
  optimize(contest.optimized);
  for (auto& [name, datum] : contest.given) datum = in_precision(datum, options);
  return contest;
}

std::vector<std::string> output_names(const ir::Graph& graph) {
  std::vector<std::string> names;
  for (ir::ValueId id : graph.outputs) names.push_back(graph[id].name);
  return names;
}

Contestants for_inference(const Options& options, const Strategy& in_files) {
  const auto contest = std::make_shared<compare::InferenceContest>(
      in_model(options, [&] { return make_contest(options, in_files); }));
  const Strategy& asked = options.session;
  const int micro_batches =
      asked.batches_per_step > 1 ? asked.batches_per_step * asked.accumulation_factor * asked.replicas : 0;
  Contestants contestants{.outputs = output_names(contest->imported.graph),
                          .assumed = contest->imported.info.open.assumed,
                          .device = contest->setting.device};
  contestants.request = request_of(options, contestants.device, contest->optimized, micro_batches);
  const auto ops = static_cast<std::size_t>(contestants.request.ops);
  contestants.attempt = [contest, &options, ops](const std::vector<Candidate>& candidates, Trial trial,
                                                 const device::Device& device,
                                                 const compare::Advance& advance) {
    compare::InferenceContest here = *contest;
    here.setting = setting_of(contest->setting, trial, device, options, ops);
    return in_model(options, [&] { return compare::compare_inference(here, candidates, advance); });
  };
  return contestants;
}

Contestants for_training(const Options& options) {
  const auto job =
      std::make_shared<TrainingJob>(in_model(options, [&] { return make_training_job(options); }));
  const compare::Setting setting = setting_of(options);
  const int asked = options.session.accumulation_factor * options.session.replicas;
  Contestants contestants{.outputs = output_names(job->model.graph),
                          .assumed = job->model.info.open.assumed,
                          .device = setting.device};
  contestants.request = request_of(options, setting.device, job->model, asked > 1 ? asked : 0);
  const auto ops = static_cast<std::size_t>(contestants.request.ops);
  contestants.attempt = [job, setting, &options, ops](const std::vector<Candidate>& candidates, Trial trial,
                                                      const device::Device& device,
                                                      const compare::Advance& advance) {
    const auto training = [&](SessionOptions session) { return training_options(*job, std::move(session)); };
    return in_model(options, [&] {
      return compare::compare_training(
          {setting_of(setting, trial, device, options, ops), job->model, job->samples, training}, candidates,
          advance);
    });
  };
  return contestants;
}

}  // namespace

Contestants make_contestants(const Options& options) {
  Contestants contestants = make_trials(options, {});
  contestants.candidates = candidates_of(options, contestants.device, contestants.request);
  return contestants;
}

Contestants make_trials(const Options& options, const Strategy& in_files) {
  return options.trains ? for_training(options) : for_inference(options, in_files);
}

}  // namespace podium::cli
