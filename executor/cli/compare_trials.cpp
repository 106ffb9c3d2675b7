#include "executor/cli/compare_trials.h"

#include <algorithm>
#include <new>

#include "annotate/rules.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/write_file.h"
#include "executor/report/model_summary.h"
#include "executor/session/check_options.h"
#include "executor/session/option_words.h"
#include "executor/session/place_model.h"

namespace podium::cli {
namespace {

// In an error or a note.
std::string where_is(const Options& options, const Strategy& strategy) {
  return options.strategies_file.empty() ? strategy.name : options.strategies_file + ": " + strategy.name;
}

}  // namespace

StrategyRequest strategy_request(const Options& options, const device::Device& device, const ir::Graph& graph,
                                 int asked) {
  return {.base = options.session_json,
          .processors = options.session.ipus > 0 ? options.session.ipus : device.processors,
          .micro_batches = asked,
          .ops = static_cast<int>(graph.ops.size()),
          .batch = samples_of(graph),
          .weight_bytes = static_cast<std::int64_t>(report::summarize(graph).parameter_bytes),
          .memory_bytes = device.memory_bytes(),
          .tiles = device.tiles};
}

std::vector<Trial> make_trials(const Options& options, std::vector<Strategy> (*sensible)(StrategyRequest),
                               StrategyRequest request) {
  const std::string& file = options.strategies_file;
  Notes notes = options.notes;
  std::vector<Trial> trials;
  for (Strategy& strategy :
       file.empty() ? sensible(request) : read_strategies(read_file(file), file, options.session_json)) {
    Notes its_own;
    podium::Options settings = read_options(strategy.options.dump(), where_is(options, strategy), its_own);
    trials.push_back({std::move(strategy), std::move(settings)});
    if (!file.empty()) notes.insert(notes.end(), its_own.begin(), its_own.end());
  }
  print_notes(notes, options);
  return trials;
}

void annotate_trial(importer::Model& model, const Options& options, const Trial& trial) {
  const nlohmann::json& annotations = trial.strategy.annotations;
  if (!annotations.is_null()) {
    const std::string where = where_is(options, trial.strategy) + ": annotate";
    annotate::apply_rules(model.graph, annotate::read_rules(annotations.dump(), where));
  }
  if (const auto reason = why_illegal(trial.settings)) throw Error(*reason);
  if (const SyntheticData mode = trial.settings.synthetic_data;
      mode != SyntheticData::Off && !options.estimate) {
    throw Error("syntheticDataMode: {} found, Off needed to compare numbers (--estimate clocks it)",
                word_of(mode));
  }
  check_annotations(model, trial.settings);
  check_overrides(trial.settings, model.graph);
}

report::ComparedStrategy attempt(const Options& options, const Trial& trial, const std::string& device,
                                 std::int64_t samples,
                                 const std::function<void(report::ComparedStrategy&)>& run) {
  const podium::Options& settings = trial.settings;
  report::ComparedStrategy compared{
      .name = trial.strategy.name,
      .run = {.model = options.paths[0],
              .strategy = trial.strategy.name,
              .device = device,
              .options = trial.strategy.options,
              .micro_batches = settings.batches_per_step * settings.accumulation_factor,
              .samples_per_micro_batch = static_cast<double>(samples),
              .is_estimate = options.estimate}};
  try {
    run(compared);
  } catch (const Error& error) {
    compared.refusal = error.what();
  } catch (const std::bad_alloc&) {
    compared.refusal = "out of memory on this machine";
  }
  return compared;
}

}  // namespace podium::cli
