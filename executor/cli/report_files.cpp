#include "executor/cli/report_files.h"

#include "executor/cli/write_file.h"
#include "executor/report/trace.h"

namespace podium::cli {

void check_files_to_write(const Options& options) {
  for (const std::string* path : {&options.report_file, &options.trace_file, &options.train.save_file}) {
    if (!path->empty()) check_can_write(*path);
  }
}

void write_report_files(const Options& options, const report::RunReport& report) {
  if (!options.report_file.empty()) write_file(options.report_file, report::to_json(report).dump(2) + "\n");
  if (options.trace_file.empty()) return;
  write_file(options.trace_file, [&](std::ostream& out) { report::write_trace(report.timeline, out); });
}

}  // namespace podium::cli
