// `podium test`: runs ONNX test cases and compares as ONNX's own runner does.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "executor/cli/case_runner.h"
#include "executor/cli/commands.h"
#include "ir/error.h"

namespace podium::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> find_cases(const Arguments& paths) {
  std::vector<fs::path> cases;
  for (const std::string& path : paths) {
    if (!fs::exists(path)) throw Error("{}: no such file or folder", path);
    if (fs::exists(fs::path(path) / "model.onnx")) cases.emplace_back(path);
    if (!fs::is_directory(path)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(path)) {
      if (entry.is_directory() && fs::exists(entry.path() / "model.onnx")) cases.push_back(entry.path());
    }
  }
  std::sort(cases.begin(), cases.end());
  cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
  return cases;
}

}  // namespace

int run_test(const Arguments& arguments) {
  int passed = 0;
  int failed = 0;
  for (const fs::path& folder : find_cases(arguments)) {
    const CaseResult result = run_case(folder.string(), {});
    if (result.passed) {
      ++passed;
    } else {
      ++failed;
      fmt::print("FAILED {}: {}\n", folder.filename().string(), result.reason);
    }
  }
  fmt::print("{} passed, {} failed, 0 skipped\n", passed, failed);
  return failed == 0 ? 0 : 1;
}

}  // namespace podium::cli
