#include "executor/cli/session_options.h"

#include <fmt/core.h>

#include "executor/cli/machine.h"
#include "executor/cli/terminal.h"
#include "executor/session/option_rows.h"

namespace podium::cli {

SessionOptions session_options(const Options& options) {
  print_notes(options.notes, options);
  return {.seed = options.seed,
          .threads = options.threads,
          .strategy = options.session,
          .open = open_options(options.session_json),
          .device = machine_of(options)};
}

OpenOptions open_options(const nlohmann::json& given) {
  return {.mode = !given.contains("virtualGraphMode"),
          .micro_batches = !given.contains("batchesPerStep") && !given.contains("accumulationFactor")};
}

std::string describe(const Strategy& strategy, int processors) {
  std::string text = processors == 1 ? "one processor" : fmt::format("sharded over {}", processors);
  if (strategy.pipelining) text = fmt::format("pipelined over {}", processors);
  if (strategy.phases.phases > 1) text = fmt::format("{} phases on {}", strategy.phases.phases, processors);
  for (const Row<Strategy>& row : option_rows()) {
    const std::string part = row.describe == nullptr ? "" : row.describe(strategy);
    if (!part.empty()) text += ", " + part;
  }
  return text;
}

void print_notes(const std::vector<std::string>& notes, const Options& options) {
  if (options.quiet) return;
  for (const std::string& note : notes) tell("note: " + note);
}

}  // namespace podium::cli
