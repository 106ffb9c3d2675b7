#include "executor/cli/supported_options.h"

#include <algorithm>
#include <map>

#include "executor/report/table.h"
#include "executor/session/option_rows.h"
#include "executor/session/options_without_effect.h"

namespace podium::cli {
namespace {

// "/executionPhaseSettings/phases" as notes and errors name it.
std::string dotted(std::string pointer) {
  std::replace(pointer.begin(), pointer.end(), '/', '.');
  return pointer.substr(1);
}

}  // namespace

std::string supported_options() {
  std::map<std::string, std::string> flags;
  for (const BoundFlag& bound : option_flags()) flags[bound.path] = fmt::format("--{}", bound.flag.name);
  std::vector<std::vector<std::string>> rows{{"option", "default", "flag"}};
  const nlohmann::json defaults = write_object<Strategy>({}, option_rows()).flatten();
  for (const auto& [path, value] : defaults.items()) {
    rows.push_back({dotted(path), value.is_null() ? "none" : value.dump(), flags[path]});
  }
  std::vector<std::vector<std::string>> without{{"without effect", "reason"}};
  for (const OptionWithoutEffect& row : options_without_effect())
    without.push_back({std::string(row.path), std::string(row.reason)});
  return report::table(rows) + "\n" + report::table(without);
}

}  // namespace podium::cli
