#include "executor/compare/compare_inference.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "executor/compare/oracle.h"
#include "executor/compare/reference_run.h"
#include "executor/session/check_options.h"
#include "executor/session/host_arrays.h"
#include "executor/session/place_model.h"
#include "executor/session/stopwatch.h"
#include "executor/session/tensor_parallel.h"

namespace podium::compare {
namespace {

using report::ComparedStrategy;

int micro_batches_of(const Strategy& strategy) {
  return strategy.batches_per_step * strategy.accumulation_factor * strategy.replicas;
}

// The optimized model with the annotations of a candidate, which nodes take only before the passes.
importer::Model placed(const InferenceContest& contest, const Candidate& candidate) {
  if (const auto reason = why_illegal(candidate.strategy)) throw Error(*reason);
  importer::Model model = contest.imported;
  apply_annotations(model, candidate, contest.setting);
  // A session that is given an optimized model cannot check what the model was before.
  check_annotations(model, candidate.strategy, contest.setting.device,
                    device_groups(model, candidate.strategy).devices);
  check_overrides(candidate.strategy, model.graph);
  if (candidate.annotations.is_null()) return contest.optimized;
  try {
    optimize(model);
  } catch (const Error& error) {
    throw error.at(contest.setting.model);
  }
  return model;
}

void run_numbers(InferenceSession& session, const ReferenceRun& reference, const Candidate& candidate,
                 ComparedStrategy& compared) {
  const int micro_batches = micro_batches_of(candidate.strategy);
  const std::vector<ir::Datum> inputs = reference.inputs(micro_batches);
  const auto start = WallClock::now();
  const auto outputs = session.run(inputs);
  compared.run.run_seconds = seconds_since(start);
  compared.difference = reference.difference(outputs, micro_batches);
}

/// What one processor makes of the steps of strategies that are followed, by the micro-batches of a step.
using PlainByLength = std::map<int, PlainSteps>;

InputsOfStep steps_of(const ReferenceRun& reference, int micro_batches) {
  return [&reference, micro_batches](int step, const std::vector<executor::HostTensor>& /*inputs*/) {
    return reference.inputs(micro_batches, step * micro_batches);
  };
}

SessionOptions followed(const InferenceContest& contest, const Strategy& strategy) {
  const Setting& setting = contest.setting;
  return watching(
      {.seed = setting.seed, .threads = setting.threads, .optimized = true, .strategy = strategy});
}

report::OracleVerdict ask_oracle(const InferenceContest& contest, const ReferenceRun& reference,
                                 const PlainByLength& plain, const Candidate& candidate) {
  const Setting& setting = contest.setting;
  if (const auto reason = why_not_judged(candidate.strategy, Task::Inference)) return {.why_not = *reason};
  const int micro_batches = micro_batches_of(candidate.strategy);
  SessionOptions options = followed(contest, candidate.strategy);
  options.device = setting.device;
  try {
    InferenceSession session(placed(contest, candidate), options);
    return judge(session, plain.at(micro_batches), steps_of(reference, micro_batches),
                 {.tolerance = setting.tolerance, .seed = setting.seed, .threads = setting.threads});
  } catch (const Error& error) {
    return {.why_not = error.what()};
  }
}

void try_candidate(const InferenceContest& contest, const std::optional<ReferenceRun>& reference,
                   const PlainByLength& plain, const Candidate& candidate, ComparedStrategy& compared) {
  const Setting& setting = contest.setting;
  const auto start = WallClock::now();
  const auto held = std::make_shared<InferenceSession>(placed(contest, candidate),
                                                       SessionOptions{.seed = setting.seed,
                                                                      .threads = setting.threads,
                                                                      .optimized = true,
                                                                      .strategy = candidate.strategy,
                                                                      .device = setting.device,
                                                                      .clock = true,
                                                                      .events = setting.draws,
                                                                      .estimate = setting.estimate});
  InferenceSession& session = *held;
  compared.run.prepare_seconds = seconds_since(start);
  if (reference && session.can_run()) run_numbers(session, *reference, candidate, compared);
  if (reference && session.can_run() && setting.oracle_steps > 0)
    compared.oracle = ask_oracle(contest, *reference, plain, candidate);
  if (session.timeline() == nullptr) throw Error("cannot be clocked: {}", fmt::join(session.notes(), "; "));
  compared.run.timeline = *session.timeline();
  if (setting.keeps_best)
    compared.clocked_on = [held](const device::Device& device) { return held->clocked_on(device); };
}

std::optional<ReferenceRun> run_reference(const InferenceContest& contest,
                                          const std::vector<Candidate>& candidates) {
  if (contest.setting.estimate) return std::nullopt;
  int most = 1;
  for (const Candidate& candidate : candidates) most = std::max(most, micro_batches_of(candidate.strategy));
  most *= std::max(1, contest.setting.oracle_steps);
  return ReferenceRun(contest.optimized, most, contest.given, contest.setting);
}

PlainByLength run_plain_steps(const InferenceContest& contest, const std::optional<ReferenceRun>& reference,
                              const std::vector<Candidate>& candidates) {
  PlainByLength plain;
  if (!reference || contest.setting.oracle_steps == 0) return plain;
  for (const Candidate& candidate : candidates) {
    const int micro_batches = micro_batches_of(candidate.strategy);
    if (plain.contains(micro_batches)) continue;
    InferenceSession session(contest.optimized, followed(contest, {.batches_per_step = micro_batches}));
    plain[micro_batches] =
        run_plainly(session, contest.setting.oracle_steps, steps_of(*reference, micro_batches));
  }
  return plain;
}

}  // namespace

std::vector<ComparedStrategy> compare_inference(const InferenceContest& contest,
                                                const std::vector<Candidate>& candidates,
                                                const Advance& advance) {
  const std::optional<ReferenceRun> reference = run_reference(contest, candidates);
  const PlainByLength plain = run_plain_steps(contest, reference, candidates);
  const std::int64_t samples = samples_of(contest.optimized.graph);
  const auto run = [&](const Candidate& candidate, ComparedStrategy& compared) {
    try_candidate(contest, reference, plain, candidate, compared);
  };
  return attempt_all(candidates, contest.setting, samples, run, advance);
}

}  // namespace podium::compare
