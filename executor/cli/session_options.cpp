#include "executor/cli/session_options.h"

#include <fmt/ranges.h>

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

namespace {

// How the model is spread over processors, or over groups of them that tensors are cut over.
std::string spread_of(const Strategy& strategy, std::int64_t places) {
  if (strategy.phases.phases > 1) return fmt::format("{} phases on {}", strategy.phases.phases, places);
  if (strategy.pipelining) return fmt::format("pipelined over {}", places);
  if (places > 1) return fmt::format("sharded over {}", places);
  return strategy.tensor_parallel.cuts() ? "" : "one processor";
}

}  // namespace

std::string describe(const Strategy& strategy, int processors) {
  std::vector<std::string> parts{spread_of(strategy, processors / strategy.tensor_parallel.group())};
  for (const Row<Strategy>& row : option_rows()) {
    if (row.describe != nullptr) parts.push_back(row.describe(strategy));
  }
  std::erase(parts, "");
  return fmt::format("{}", fmt::join(parts, ", "));
}

void print_notes(const std::vector<std::string>& notes, const Options& options) {
  if (options.quiet) return;
  for (const std::string& note : notes) tell("note: " + note);
}

}  // namespace podium::cli
