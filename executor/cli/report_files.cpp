#include "executor/cli/report_files.h"

#include <filesystem>
#include <map>

#include "executor/cli/usage_error.h"
#include "executor/cli/version.h"
#include "executor/cli/write_file.h"
#include "executor/report/page.h"
#include "executor/report/trace.h"
#include "executor/session/json_rows.h"

namespace podium::cli {

void check_files_to_write(const Options& options) {
  std::map<std::string, std::string_view> flags;
  for (const auto& [flag, path] :
       {std::pair{"--report", &options.report_file}, std::pair{"--trace", &options.trace_file},
        std::pair{"--html", &options.html_file}, std::pair{"--save", &options.train.save_file}}) {
    if (path->empty()) continue;
    check_can_write(*path);
    std::error_code failed;
    const auto [other, is_new] =
        flags.emplace(std::filesystem::weakly_canonical(*path, failed).string(), flag);
    const bool is_file =
        !std::filesystem::exists(*path, failed) || std::filesystem::is_regular_file(*path, failed);
    if (!is_new && is_file)
      throw UsageError("{} and {}: one file found for both: {}", other->second, flag, *path);
  }
}

void write_report_files(const Options& options, const report::RunReport& report) {
  if (!options.report_file.empty())
    write_file(options.report_file, json_text(report::to_json(report)) + "\n");
  if (!options.html_file.empty()) {
    const auto view = report.training ? report::PageView::Training : report::PageView::Overview;
    write_page_file(options, report::run_page_data(report, view));
  }
  if (options.trace_file.empty()) return;
  const report::TraceFacts facts{report.model, report.strategy, report.device, program_name()};
  write_file(options.trace_file,
             [&](std::ostream& out) { report::write_trace(facts, report.timeline, out); });
}

void write_page_file(const Options& options, const nlohmann::json& data) {
  if (options.html_file.empty()) return;
  write_file(options.html_file, [&](std::ostream& out) { report::write_page(data, out); });
}

bool wants_events(const Options& options) {
  return options.explain || !options.trace_file.empty() || !options.html_file.empty();
}

}  // namespace podium::cli
