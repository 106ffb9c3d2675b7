// `podium test`: runs ONNX test cases and compares as ONNX's own runner does.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "executor/cli/case_runner.h"
#include "executor/cli/options.h"
#include "executor/cli/progress.h"
#include "executor/cli/session_options.h"
#include "executor/cli/terminal.h"
#include "executor/cli/usage_error.h"
#include "executor/report/table.h"
#include "executor/session/check_options.h"
#include "ir/files.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

// A folder that is a link is not entered, so that there are no rings.
void add_cases(const fs::path& folder, int levels, std::vector<fs::path>& cases) {
  if (ir::is_there(folder / "model.onnx")) cases.push_back(folder);
  if (levels == 0) return;
  for (const fs::path& entry : ir::entries_of(folder)) {
    std::error_code failed;
    if (!fs::is_symlink(entry, failed) && ir::is_folder(entry)) add_cases(entry, levels - 1, cases);
  }
}

std::vector<fs::path> find_cases(const std::vector<std::string>& paths) {
  constexpr int kDeepest = 32;
  std::vector<fs::path> cases;
  for (const std::string& path : paths) {
    if (!ir::is_there(path)) throw Error("{}: no such file or folder", path);
    if (!ir::is_folder(path)) throw Error("{}: a file found, a folder of test cases needed", path);
    add_cases(path, kDeepest, cases);
  }
  if (cases.empty()) throw Error("{}: no folder with model.onnx found", paths.empty() ? "" : paths[0]);
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  return cases;
}

std::string kind_of(const CaseResult& result) {
  if (result.output.empty()) return "cannot be run";
  if (result.comparison.is_of_other_type) return "another type or shape";
  return result.comparison.is_rounding ? "rounding" : "other numbers";
}

// A row a failed case: how wrong it is.
std::string failure_table(const std::vector<std::pair<std::string, CaseResult>>& failures) {
  std::vector<std::vector<std::string>> rows{
      {"failed", "looks like", "output", "differ", "error", "of largest"}};
  for (const auto& [name, result] : failures) {
    const compare::Comparison& comparison = result.comparison;
    rows.push_back({name, kind_of(result), result.output});
    if (comparison.differing == 0) continue;
    const double share =
        comparison.largest_number > 0 ? comparison.largest_error / comparison.largest_number : 0;
    for (std::string cell : {fmt::format("{}", comparison.differing),
                             fmt::format("{:.2g}", comparison.largest_error), fmt::format("{:.2g}", share)})
      rows.back().push_back(std::move(cell));
  }
  return report::table(report::fold(std::move(rows), {10, 9, 5, 6, 8, 7}, terminal_width()));
}

}  // namespace

int execute_test(const Options& options) {
  if (options.paths.empty())
    throw UsageError("test: no path found, at least one folder of test cases needed");
  // With options that no model can have, every case would be one that cannot be split.
  if (const auto reason = why_illegal(options.session)) throw Error(*reason);
  const SessionOptions session = session_options(options);
  const std::vector<fs::path> cases = find_cases(options.paths);
  Progress progress("test cases", cases.size(), options.quiet);
  int passed = 0;
  int failed = 0;
  std::vector<std::pair<std::string, CaseResult>> failures;
  int skipped = 0;
  int unsplit = 0;
  for (const fs::path& folder : cases) {
    const std::string name = folder.filename().string();
    progress.begin(name);
    const CaseResult result =
        run_case(folder.string(), {options.relative, options.absolute, options.of_largest}, session);
    progress.advance();
    if (!result.unsplit.empty()) {
      ++unsplit;
      if (options.verbose) progress.print(fmt::format("on one processor {}: {}", name, result.unsplit));
    }
    switch (result.outcome) {
      case Outcome::Passed:
        ++passed;
        if (!result.reason.empty())
          progress.print(fmt::format("passed  {}, corrected: {}", name, result.reason));
        if (result.reason.empty() && options.verbose) progress.print(fmt::format("passed  {}", name));
        break;
      case Outcome::Failed:
        ++failed;
        failures.emplace_back(name, result);
        progress.print(fmt::format("FAILED  {}: {}", name, result.reason));
        break;
      case Outcome::Skipped:
        ++skipped;
        progress.print(fmt::format("skipped {}: {}", name, result.reason));
        break;
    }
  }
  progress.finish();
  if (failures.size() > 1) show(failure_table(failures));
  if (unsplit > 0) show(fmt::format("{} ran on one processor: they cannot be split as asked\n", unsplit));
  show(fmt::format("{} passed, {} failed, {} skipped\n", passed, failed, skipped));
  return failed == 0 ? kDone : kFailed;
}

}  // namespace podium::cli
