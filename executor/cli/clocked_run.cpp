#include "executor/cli/clocked_run.h"

#include <fmt/core.h>

#include <algorithm>

#include "executor/cli/fingerprint.h"
#include "executor/cli/machine.h"
#include "executor/cli/profiler.h"
#include "executor/cli/report_files.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/version.h"
#include "executor/cli/what_ifs.h"
#include "executor/device/read_device.h"
#include "executor/device/sources.h"
#include "executor/report/cause.h"
#include "executor/report/overflow.h"
#include "executor/report/table.h"
#include "executor/schedule/chart.h"
#include "executor/session/place_model.h"
#include "executor/session/read_options.h"

namespace podium::cli {

SessionOptions clocked_session(const Options& options) {
  SessionOptions session = session_options(options);
  session.clock = true;
  session.events = wants_events(options);
  session.estimate = options.estimate;
  return session;
}

namespace {

// What was given, with what the session chose where nothing was.
nlohmann::json options_of(const Options& options, const Strategy& strategy) {
  nlohmann::json document = options.session_json;
  const nlohmann::json chosen = write_options(strategy, options.session);
  for (const char* name : {"virtualGraphMode", "batchesPerStep", "enableGradientAccumulation",
                           "accumulationFactor", "pipelineSchedule", "pipelineChunks", "pipelineDeferred"}) {
    if (chosen.contains(name)) document[name] = chosen[name];
  }
  return document;
}

}  // namespace

report::RunReport start_report(const Options& options, const Strategy& strategy,
                               const executor::Program& program, std::int64_t samples) {
  return {.model = options.paths[0],
          .strategy = describe(strategy, program.processors),
          .device = machine_of(options).name,
          .options = options_of(options, strategy),
          .micro_batches = strategy.batches_per_step * strategy.accumulation_factor,
          .samples_per_micro_batch = static_cast<double>(samples),
          .is_estimate = options.estimate,
          .crossings = crossings_of(program)};
}

void print_schedule(const Options& options, const Strategy& strategy, int processors, int micro_batches) {
  if (!options.print_schedule) return;
  if (!strategy.pipelining || strategy.virtual_graph_mode != VirtualGraphMode::Auto) {
    throw Error("--print-schedule needs --pipeline and --virtual-graph-mode auto");
  }
  show(schedule::chart(pipeline_schedule(strategy, processors, micro_batches)));
}

report::Provenance provenance_of(const Options& options) {
  const device::Device device = machine_of(options);
  report::Provenance found{.program = program_name(),
                           .machine = nlohmann::json::parse(device::to_json(device))};
  for (const device::Field& field : device::fields())
    found.sources[std::string(field.name)] = name_of(source_of(device, field));
  return found;
}

void add_details(report::RunReport& report, const Options& options, const executor::Program& program,
                 const sim::Timeline* timeline, const std::set<std::string>& forward) {
  if (options.html_file.empty()) return;
  report.details = {.provenance = provenance_of(options)};
  if (timeline == nullptr) return;
  report.details->ops = profiled_ops(program, timeline->blocks, forward);
  report.details->phases = phases_of(program, timeline->blocks);
}

void add_model_file(report::RunReport& report, const Options& options) {
  if (!options.report_file.empty() || !options.html_file.empty())
    report.model_file = fingerprint(options.paths[0]);
}

void add_times(report::RunReport& report, const sim::Timeline* timeline) {
  report.is_clocked = timeline != nullptr;
  if (timeline != nullptr) report.timeline = *timeline;
}

std::vector<report::Resharding> reported(const std::vector<annotate::Resharding>& reshardings) {
  std::vector<report::Resharding> all;
  for (const annotate::Resharding& one : reshardings)
    all.push_back({one.node, one.tensor, std::string(name_of(one.kind)), one.bytes});
  return all;
}

int finish_report(const Options& options, const report::RunReport& report) {
  write_report_files(options, report);
  if (!report.timeline.fits()) {
    show(report::overflow(report));
    show(what_helps(report.what_ifs));
    return kDoesNotFit;
  }
  show(report::table(report::wrap(report::rows(report), terminal_width())));
  if (options.explain) {
    show("\n" + report::path_table(report.timeline, terminal_width()));
    show("\n" + report::idle_table(report.timeline, terminal_width()));
    if (!report.crossings.empty())
      show("\n" + report::crossing_table(report.crossings, report.timeline.kind, terminal_width()));
    if (!report.reshardings.empty())
      show("\n" + report::resharding_table(report.reshardings, terminal_width()));
  }
  if (const std::string helps = what_helps(report.what_ifs); !helps.empty()) show("\n" + helps);
  return kDone;
}

double median(std::vector<double> seconds) {
  if (seconds.empty()) return 0;
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

}  // namespace podium::cli
