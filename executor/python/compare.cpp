#include "executor/python/compare.h"

#include "executor/cli/compare_candidates.h"
#include "executor/cli/training_job.h"
#include "executor/compare/compare_inference.h"
#include "executor/compare/compare_training.h"
#include "executor/python/calls.h"
#include "executor/session/check_options.h"
#include "executor/session/session.h"
#include "ir/passes/set_precision.h"

namespace podium::python {
namespace {

using compare::Candidate;

compare::Setting setting_of(const Settings& settings) {
  const cli::Options& options = settings.options;
  return {.model = options.paths[0],
          .device = settings.device,
          .seed = options.seed,
          .random_seed = options.random_seed,
          .threads = options.threads,
          .replicas = options.session.replicas,
          .estimate = options.estimate};
}

std::vector<Candidate> candidates_of(const Settings& settings, const std::string& strategies,
                                     const importer::Model& model, int micro_batches) {
  if (strategies.empty()) {
    compare::Request request = cli::request_of(settings.options, settings.device, model, micro_batches);
    return cli::candidates_of(settings.options, settings.device, request);
  }
  Notes notes;
  return compare::read_candidates(strategies, "strategies", settings.options.session_json, notes);
}

std::vector<report::ComparedStrategy> of_training(const Settings& settings, importer::Model model,
                                                  const std::string& strategies) {
  const cli::TrainingJob job = make_training_job(settings.options, std::move(model));
  const int asked = settings.options.session.accumulation_factor * settings.options.session.replicas;
  const auto candidates = candidates_of(settings, strategies, job.model, asked > 1 ? asked : 0);
  const auto training = [&](SessionOptions session) { return training_options(job, std::move(session)); };
  return compare::compare_training({setting_of(settings), job.model, job.samples, training}, candidates,
                                   [](const auto&) { look_for_signals(); });
}

std::vector<report::ComparedStrategy> of_inference(const Settings& settings, importer::Model model,
                                                   const std::string& strategies) {
  compare::InferenceContest contest{.setting = setting_of(settings), .imported = std::move(model)};
  contest.optimized = contest.imported;
  optimize(contest.optimized);
  const Strategy& asked = settings.options.session;
  const int micro_batches =
      asked.batches_per_step > 1 ? asked.batches_per_step * asked.accumulation_factor * asked.replicas : 0;
  const auto candidates = candidates_of(settings, strategies, contest.optimized, micro_batches);
  return compare::compare_inference(contest, candidates, [](const auto&) { look_for_signals(); });
}

}  // namespace

std::string compare_strategies(const Model& model, const Settings& settings, const std::string& strategies) {
  importer::Model copy = model.imported();
  return call(model.name(), nullptr, [&] {
    check_counts(settings.options.session);
    if (settings.options.precision) ir::set_precision(copy.graph, *settings.options.precision);
    const auto compare = settings.options.trains ? of_training : of_inference;
    auto compared = compare(settings, std::move(copy), strategies);
    report::sort_best_first(compared);
    return report::comparison_json({model.name()}, compared).dump();
  });
}

}  // namespace podium::python
