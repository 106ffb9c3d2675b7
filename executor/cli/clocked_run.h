// What run and train have in common: a session with a clock, and a report of what it came to.
#pragma once

#include <set>
#include <string>

#include "executor/cli/options.h"
#include "executor/report/report.h"
#include "executor/session/session.h"

namespace podium::cli {

/// Settings of a session that is clocked, with events where --trace asks for them.
SessionOptions clocked_session(const Options& options);

/// What `podium run --estimate` and `podium train --estimate` clock. Nothing is printed but notes.
report::RunReport estimate_run(const Options& options);
report::RunReport estimate_train(const Options& options);

/// What of a report is known before the run, of which the strategy is as it takes effect.
report::RunReport start_report(const Options& options, const Strategy& strategy,
                               const executor::Program& program, std::int64_t samples);

/// With --print-schedule, the orders of a pipeline as a chart. Error for one that annotations have placed.
void print_schedule(const Options& options, const Strategy& strategy, int processors, int micro_batches);

/// This program, and the machine of --device with the source of each of its numbers.
report::Provenance provenance_of(const Options& options);

/// What a page shows beside the times, where one is asked for. `timeline` is that of the Program: there is
/// none where the clock waits for the first run. `forward` are the names of the model's values where it
/// trains (profiler.h).
void add_details(report::RunReport& report, const Options& options, const executor::Program& program,
                 const sim::Timeline* timeline, const std::set<std::string>& forward);

/// The fingerprint of the model's file, where a report or a page is asked for.
void add_model_file(report::RunReport& report, const Options& options);

/// The times of a session's clock, where it has any.
void add_times(report::RunReport& report, const sim::Timeline* timeline);

/// How tensors that are cut over devices come to the nodes that need them.
std::vector<report::Resharding> reported(const std::vector<annotate::Resharding>& reshardings);

/// Writes the files of --report, --trace and --html, and prints the table, or what does not fit. The exit
/// status.
int finish_report(const Options& options, const report::RunReport& report);

/// Of the times of some runs.
double median(std::vector<double> seconds);

}  // namespace podium::cli
