// The strategies that options ask to compare.
#pragma once

#include <vector>

#include "executor/cli/options.h"
#include "executor/compare/candidates.h"
#include "executor/device/device.h"
#include "ir/graph.h"

namespace podium::cli {

/// Those of --strategies, or sensible ones for the model, whose steps, or updates, take `micro_batches`.
/// Prints the notes of the options.
std::vector<compare::Candidate> candidates_of(const Options& options, const device::Device& device,
                                              const ir::Graph& graph, int micro_batches);

}  // namespace podium::cli
