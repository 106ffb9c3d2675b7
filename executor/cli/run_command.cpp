// `podium run`: inference, the result table, and the outputs.
#include <fmt/format.h>

#include <algorithm>

#include "executor/cli/clocked_run.h"
#include "executor/cli/in_model.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/run_outputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/what_ifs.h"
#include "executor/session/stopwatch.h"

namespace podium::cli {
namespace {

struct RunResult {
  report::RunReport report;
  std::vector<OutputResult> outputs;
};

InferenceSession make_session(const Options& options, importer::Model model,
                              const importer::Signature& signature) {
  const SessionOptions settings = clocked_session(options);
  return in_model(options, [&] {
    InferenceSession session(std::move(model), settings);
    if (!options.precision) check_element_types(session, signature);
    return session;
  });
}

void note_unused_files(const Options& options, const Strategy& strategy) {
  if (strategy.synthetic_data == SyntheticData::Off) return;
  std::vector<std::string> unused;
  if (!options.inputs.empty()) unused.emplace_back("--input");
  if (!options.inputs_folder.empty()) unused.emplace_back("--inputs");
  if (!options.output_folder.empty()) unused.emplace_back("--output-dir");
  if (!options.expected_folder.empty()) unused.emplace_back("--expected");
  if (unused.empty()) return;
  print_notes({fmt::format("{}: no effect with syntheticDataMode, nothing comes from the host or goes there",
                           fmt::join(unused, ", "))},
              options);
}

// Runs as often as --repeat says, after a run that finds memory; the times in ascending order.
std::vector<double> run_repeatedly(const Options& options, InferenceSession& session,
                                   const std::vector<ir::Datum>& inputs,
                                   std::span<const ir::Datum>& outputs) {
  if (options.repeat > 1) in_model(options, [&] { session.run(inputs); });
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = WallClock::now();
    outputs = in_model(options, [&] { return session.run(inputs); });
    times.push_back(seconds_since(start));
  }
  std::sort(times.begin(), times.end());
  return times;
}

void run_numbers(const Options& options, InferenceSession& session,
                 const std::map<std::string, ir::Datum>& given, const importer::Signature& signature,
                 RunResult& result) {
  const std::vector<ir::Datum> inputs = in_model(options, [&] { return gather(session, given, options); });
  std::span<const ir::Datum> outputs;
  // A first run that also has to learn sizes for the clock is not timed.
  if (session.timeline() == nullptr) in_model(options, [&] { session.run(inputs); });
  result.report.run_times = run_repeatedly(options, session, inputs, outputs);
  result.report.run_seconds = report::percentile(result.report.run_times, 0.5);
  result.outputs = collect(options, signature, session, outputs);
  for (const OutputResult& output : result.outputs) {
    report::OutputFacts facts{.name = output.name, .type = to_string(output.type)};
    if (output.compared) facts.largest_error = output.comparison.largest_error;
    facts.agrees = output.comparison.agrees();
    result.report.outputs.push_back(facts);
  }
}

RunResult execute(const Options& options) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  const auto given = read_inputs(options, signature);
  const auto start = WallClock::now();
  importer::Model model = import(options, micro_batch_types(given, signature, options.session));
  const auto has_file = [&](const std::string& name) { return given.contains(name); };
  in_model(options, [&] { importer::check_sizes(model, has_file); });
  const std::int64_t samples = samples_of(model.graph);
  InferenceSession session = make_session(options, std::move(model), signature);
  note_unused_files(options, session.strategy());
  RunResult result{.report = start_report(options, session.strategy(), session.program(), samples),
                   .outputs = {}};
  result.report.prepare_seconds = seconds_since(start);
  print_schedule(options, session.strategy(), session.program().processors,
                 session.strategy().batches_per_step);
  if (session.can_run()) run_numbers(options, session, given, signature, result);
  print_notes(session.notes(), options);
  add_times(result.report, session.timeline());
  return result;
}

}  // namespace

report::RunReport estimate_run(const Options& options) { return execute(options).report; }

int execute_run(const Options& options) {
  check_files_to_write(options);
  RunResult result = execute(options);
  if (options.explain) result.report.what_ifs = what_ifs_of_run(options, result.report, Task::Inference);
  if (const int status = finish_report(options, result.report); status != kDone) return status;
  for (const OutputResult& output : result.outputs) show(print(output));
  const bool agrees = std::all_of(result.outputs.begin(), result.outputs.end(),
                                  [](const OutputResult& output) { return output.comparison.agrees(); });
  return agrees ? kDone : kFailed;
}

}  // namespace podium::cli
