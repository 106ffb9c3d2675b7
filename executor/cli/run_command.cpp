// `podium run`: inference, the result table, and the outputs.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "executor/cli/machine.h"
#include "executor/cli/options.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/run_outputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/stopwatch.h"
#include "executor/report/overflow.h"
#include "executor/report/report.h"
#include "executor/report/table.h"
#include "executor/session/session.h"

namespace podium::cli {
namespace {

const std::vector<OptionGroup> kRunGroups{OptionGroup::Data, OptionGroup::Comparison, OptionGroup::Strategy,
                                          OptionGroup::Clock, OptionGroup::Session};

struct RunResult {
  report::RunReport report;
  bool is_clocked = false;
  std::vector<OutputResult> outputs;
};

// The error with the model's name in front.
template <class Step>
auto in_model(const Options& options, Step step) {
  try {
    return step();
  } catch (const Error& error) {
    throw error.at(options.paths[0]);
  } catch (const std::bad_alloc&) {
    throw Error("{}: out of memory", options.paths[0]);
  }
}

InferenceSession make_session(const Options& options, importer::Model model,
                              const importer::Signature& signature) {
  SessionOptions settings = session_options(options);
  settings.clock = true;
  settings.events = !options.trace_file.empty();
  settings.estimate = options.estimate;
  return in_model(options, [&] {
    InferenceSession session(std::move(model), settings);
    if (!options.precision) check_element_types(session, signature);
    return session;
  });
}

void note_unused_files(const Options& options, const podium::Options& strategy) {
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

// What of the report is known before the run.
report::RunReport start_report(const Options& options, const InferenceSession& session,
                               std::int64_t samples) {
  return {.model = options.paths[0],
          .strategy = describe(session.strategy(), session.program().processors),
          .device = machine_of(options).name,
          .options = options.session_json,
          .micro_batches = options.session.batches_per_step,
          .samples_per_micro_batch = static_cast<double>(samples),
          .is_estimate = options.estimate};
}

// Runs as often as --repeat says; the median time.
double run_repeatedly(const Options& options, InferenceSession& session, const std::vector<ir::Datum>& inputs,
                      std::span<const ir::Datum>& outputs) {
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = WallClock::now();
    outputs = in_model(options, [&] { return session.run(inputs); });
    times.push_back(seconds_since(start));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

void run_numbers(const Options& options, InferenceSession& session,
                 const std::map<std::string, ir::Datum>& given, const importer::Signature& signature,
                 RunResult& result) {
  const std::vector<ir::Datum> inputs = in_model(options, [&] { return gather(session, given, options); });
  std::span<const ir::Datum> outputs;
  // A first run that also has to learn sizes for the clock is not timed.
  if (session.timeline() == nullptr) in_model(options, [&] { session.run(inputs); });
  result.report.run_seconds = run_repeatedly(options, session, inputs, outputs);
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
  const std::int64_t samples = samples_of(model.graph);
  InferenceSession session = make_session(options, std::move(model), signature);
  note_unused_files(options, session.strategy());
  RunResult result{.report = start_report(options, session, samples), .outputs = {}};
  result.report.prepare_seconds = seconds_since(start);
  if (session.can_run()) run_numbers(options, session, given, signature, result);
  print_notes(session.notes(), options);
  if (session.timeline() != nullptr) result.report.timeline = *session.timeline();
  result.is_clocked = session.timeline() != nullptr;
  return result;
}

void print_table(const RunResult& result) {
  std::vector<std::vector<std::string>> rows = report::rows(result.report);
  if (!result.is_clocked) {
    // What no clock has measured would be shown as nothing.
    std::erase_if(rows, [](const auto& row) {
      return row[0] != "strategy" && row[0] != "device" && row[0] != "micro-batches" && row[0] != "real time";
    });
  }
  fmt::print("{}", report::table(rows));
}

}  // namespace

int run_run(const Arguments& arguments) {
  const Options options = parse("run", arguments, kRunGroups);
  if (options.help) {
    fmt::print("{}",
               help("run", "Runs inference and prints the result table and a line per output.", kRunGroups));
    return 0;
  }
  if (options.paths.size() != 1) throw UsageError("run: {} models found, one needed", options.paths.size());
  const RunResult result = execute(options);
  write_report_files(options, result.report);
  if (!result.report.timeline.fits()) {
    fmt::print("{}", report::overflow(result.report));
    return kDoesNotFit;
  }
  print_table(result);
  for (const OutputResult& output : result.outputs) fmt::print("{}", print(output));
  const bool agrees = std::all_of(result.outputs.begin(), result.outputs.end(),
                                  [](const OutputResult& output) { return output.comparison.agrees(); });
  return agrees ? 0 : 1;
}

}  // namespace podium::cli
