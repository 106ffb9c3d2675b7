#include "executor/cli/session_options.h"

#include <fmt/core.h>

#include "executor/cli/machine.h"
#include "executor/session/check_options.h"

namespace podium::cli {

SessionOptions session_options(const Options& options) {
  if (const auto reason = why_illegal(options.session)) throw Error(*reason);
  print_notes(options.notes, options);
  return {.seed = options.seed,
          .threads = options.threads,
          .strategy = options.session,
          .device = machine_of(options)};
}

std::string describe(const podium::Options& strategy, int processors, bool trains) {
  std::string text = processors == 1 ? "one processor" : fmt::format("sharded over {}", processors);
  if (strategy.pipelining) text = fmt::format("pipelined over {}", processors);
  if (strategy.phases.phases > 1) text = fmt::format("{} phases on {}", strategy.phases.phases, processors);
  const auto add = [&](bool holds, const std::string& what) {
    if (holds) text += ", " + what;
  };
  add(trains && strategy.weight_stashing && strategy.accumulation_factor == 1, "weights stashed");
  add(strategy.replicas > 1, fmt::format("{} replicas", strategy.replicas));
  add(strategy.batch_serialization.factor > 1,
      fmt::format("batch in {} slices", strategy.batch_serialization.factor));
  const auto add_place = [&](const LocationSettings& settings, const std::string& what) {
    add(settings.location.storage == ir::Storage::OffChip, what + " off chip");
    add(settings.location.sharded && strategy.replicas > 1, what + " sharded");
  };
  add_place(strategy.weights, "weights");
  if (trains) {
    add_place(strategy.optimizer_state, "optimizer state");
    add_place(strategy.accumulators, "accumulators");
    add(strategy.recomputation != Recomputation::None, "recomputation");
  }
  add(strategy.activations.location.storage == ir::Storage::OffChip, "activations off chip");
  add(strategy.overlap_io != ir::ExchangeStrategy::JustInTime, "host IO overlapped");
  return text;
}

void print_notes(const std::vector<std::string>& notes, const Options& options) {
  if (options.quiet) return;
  for (const std::string& note : notes) fmt::print(stderr, "note: {}\n", note);
}

}  // namespace podium::cli
