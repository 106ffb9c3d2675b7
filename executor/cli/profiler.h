// What each op of a Program costs, and what crosses between its processors.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "executor/program.h"
#include "executor/report/report.h"
#include "executor/sim/timeline.h"
#include "ir/graph.h"

namespace podium::cli {

/// A row for each op of each block, all runs of a step together; `blocks` are those of the Program, by
/// number. `forward` are the names of the model's own values where it trains, by which the backward pass is
/// known; empty for inference.
std::vector<report::ProfiledOp> profiled_ops(const executor::Program& program,
                                             const std::vector<sim::BlockReport>& blocks,
                                             const std::set<std::string>& forward);

/// What each pair of processors sends in a step, by sender, receiver and name.
std::vector<report::Crossing> crossings_of(const executor::Program& program);

/// What each phase computes and moves, in their order; none of a run without phases. `blocks` as above.
std::vector<report::PhaseWork> phases_of(const executor::Program& program,
                                         const std::vector<sim::BlockReport>& blocks);

std::set<std::string> names_of_values(const ir::Graph& graph);

}  // namespace podium::cli
