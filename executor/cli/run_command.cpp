// `podium run`: inference, the result table, and the outputs. Files tell the sizes that the model leaves
// open; where a pipeline's number of micro-batches is not given, it is found first, so that each gets its
// share of the rows. With --repeat the runs are timed one by one, behind one that finds memory.
#include <fmt/format.h>

#include <algorithm>

#include "executor/cli/clocked_run.h"
#include "executor/cli/in_model.h"
#include "executor/cli/machine.h"
#include "executor/cli/process_memory.h"
#include "executor/cli/progress.h"
#include "executor/cli/report_files.h"
#include "executor/cli/run_inputs.h"
#include "executor/cli/run_outputs.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/what_ifs.h"
#include "executor/report/table.h"
#include "executor/session/fill_in.h"
#include "executor/session/stopwatch.h"
#include "executor/session/working_sizes.h"

namespace podium::cli {
namespace {

struct RunResult {
  report::RunReport report;
  std::vector<OutputResult> outputs;
  std::size_t ops = 0;  ///< of the model
  numeric::ArenaBytes arena = {};
  std::vector<sim::Timeline> elsewhere = {};  ///< what ran, on better machines
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
  Progress progress("runs", static_cast<std::size_t>(options.repeat), options.quiet);
  for (int i = 0; i < options.repeat; ++i) {
    const auto start = WallClock::now();
    outputs = in_model(options, [&] { return session.run(inputs); });
    times.push_back(seconds_since(start));
    progress.advance();
  }
  progress.finish();
  std::sort(times.begin(), times.end());
  return times;
}

void run_numbers(const Options& options, InferenceSession& session,
                 const std::map<std::string, ir::Datum>& given, const importer::Signature& signature,
                 RunResult& result) {
  const std::vector<ir::Datum> inputs = in_model(options, [&] { return gather(session, given, options); });
  std::span<const ir::Datum> outputs;
  // A first run that also has to learn sizes for the clock is not timed.
  show_activity("running", options);
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

// Each micro-batch gets as many rows of a file whose leading dimension the model leaves open.
void check_rows(const std::map<std::string, ir::Datum>& given, const importer::Signature& signature,
                const Strategy& strategy) {
  for (const auto& [name, declared] : signature.inputs) {
    const auto found = given.find(name);
    if (found == given.end() || !found->second.is_tensor() || !declared.is_tensor()) continue;
    const ir::Tensor& array = found->second.tensor;
    const bool is_open = declared.rank() > 0 && declared.dims.front() == ir::kUnknown;
    if (!is_open || array.rank() != declared.rank()) continue;
    const std::int64_t rows = array.dim(0);
    int count = strategy.batches_per_step;
    while (count > 1 && rows % (std::int64_t{count} * strategy.replicas) != 0) --count;
    if (count == strategy.batches_per_step) continue;
    throw Error(
        "input '{}': {} rows found, a multiple of {} needed for {} micro-batches of {} replicas, or "
        "--batches-per-step {}",
        name, rows, strategy.batches_per_step * strategy.replicas, strategy.batches_per_step,
        strategy.replicas, count);
  }
}

// Files hold the micro-batches of a step. Where the session is to choose how many, a pipeline's number has to
// be known before they tell the sizes that the model leaves open.
Strategy strategy_of_files(const Options& options, const importer::Signature& signature,
                           const std::map<std::string, ir::Datum>& given) {
  if (given.empty()) return options.session;
  const bool is_open = std::any_of(signature.inputs.begin(), signature.inputs.end(),
                                   [](const auto& input) { return !input.second.is_static(); });
  const OpenOptions open = open_options(options.session_json);
  if (!is_open || !options.session.pipelining || !open.micro_batches) return options.session;
  const importer::Model model = importer::import_model(
      options.paths[0],
      {.dims = options.dims, .assumed = importer::kOneForAll, .constants = options.constants});
  Notes said_by_the_session;
  Strategy strategy = filled_in({.strategy = options.session, .open = open}, model, machine_of(options),
                                Task::Inference, said_by_the_session);
  if (options.dims.empty()) check_rows(given, signature, strategy);
  return strategy;
}

// How much of this machine's memory the run took; of a run alone, not of an estimate.
std::string memory_text(const numeric::ArenaBytes& arena) {
  const auto bytes = [](auto count) { return report::bytes(static_cast<double>(count)); };
  const double above = arena.live > 0 ? static_cast<double>(arena.planned) / arena.live - 1 : 0;
  return fmt::format(
      "memory of this machine: {} at most; values between ops {}, {:.1f}% above the {} that live at once\n",
      bytes(most_resident_bytes()), bytes(arena.planned), 100 * above, bytes(arena.live));
}

enum class Helps : std::uint8_t { No, Asked };  ///< whether anybody asks what would help

RunResult execute(const Options& options, Helps helps) {
  const importer::Signature signature = importer::read_signature(options.paths[0]);
  const auto given = read_inputs(options, signature);
  const auto start = WallClock::now();
  show_activity(fmt::format("importing {}", options.paths[0]), options);
  const Strategy strategy = in_model(options, [&] { return strategy_of_files(options, signature, given); });
  importer::Model model = import(options, micro_batch_types(given, signature, strategy));
  const auto has_file = [&](const std::string& name) { return given.contains(name); };
  in_model(options, [&] { require_sizes(model, has_file); });
  const std::int64_t samples = samples_of(model.graph);
  const std::size_t ops = model.graph.ops.size();
  show_activity("preparing", options);
  InferenceSession session = make_session(options, std::move(model), signature);
  note_unused_files(options, session.strategy());
  RunResult result{.report = start_report(options, session.strategy(), session.program(), samples),
                   .outputs = {},
                   .ops = ops};
  result.report.reshardings = reported(session.reshardings());
  result.report.prepare_seconds = seconds_since(start);
  add_details(result.report, options, session.program(), session.timeline(), {});
  add_model_file(result.report, options);
  result.arena = session.arena();
  print_schedule(options, session.strategy(), session.program().processors,
                 session.strategy().batches_per_step);
  if (session.can_run()) run_numbers(options, session, given, signature, result);
  print_notes(session.notes(), options);
  add_times(result.report, session.timeline());
  if (helps == Helps::Asked) {
    result.elsewhere = on_better_machines(options, result.report, ops, [&](const device::Device& device) {
      return session.clocked_on(device);
    });
  }
  return result;
}

}  // namespace

report::RunReport estimate_run(const Options& options) { return execute(options, Helps::No).report; }

int execute_run(const Options& options) {
  check_files_to_write(options);
  RunResult result = execute(options, Helps::Asked);
  result.report.what_ifs =
      what_ifs_of_run(options, result.report, Task::Inference, result.ops, std::move(result.elsewhere));
  if (const int status = finish_report(options, result.report); status != kDone) return status;
  for (const OutputResult& output : result.outputs) show(print(output));
  if (options.verbose && !result.report.is_estimate) show(memory_text(result.arena));
  const bool agrees = std::all_of(result.outputs.begin(), result.outputs.end(),
                                  [](const OutputResult& output) { return output.comparison.agrees(); });
  return agrees ? kDone : kFailed;
}

}  // namespace podium::cli
