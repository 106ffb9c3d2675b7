// What `podium compare` does with every strategy, whether the model is run or trained under it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/cli/options.h"
#include "executor/cli/strategies.h"
#include "executor/device/device.h"
#include "executor/report/comparison.h"
#include "importer/import.h"

namespace podium::cli {

struct Trial {
  Strategy strategy;
  podium::Options settings;  ///< as the strategy's options say
};

/// The strategies of --strategies, or `sensible` ones for this model. Prints the notes of the file's options.
std::vector<Trial> make_trials(const Options& options, std::vector<Strategy> (*sensible)(StrategyRequest),
                               StrategyRequest request);

/// What the options, the device and the model say of the strategies that make sense; micro-batches as
/// `asked` of all replicas together, 0: nobody said.
StrategyRequest strategy_request(const Options& options, const device::Device& device, const ir::Graph& graph,
                                 int asked);

/// The annotations of the strategy, where it has some, written to the model as it was imported, and checked
/// as a session checks them.
void annotate_trial(importer::Model& model, const Options& options, const Trial& trial);

/// What `run` adds to the facts that are known before: time, memory and, once computed, the difference. An
/// Error of it is the refusal.
report::ComparedStrategy attempt(const Options& options, const Trial& trial, const std::string& device,
                                 std::int64_t samples,
                                 const std::function<void(report::ComparedStrategy&)>& run);

}  // namespace podium::cli
