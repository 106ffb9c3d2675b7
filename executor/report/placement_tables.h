// A placement as tables for the terminal.
#pragma once

#include <string>
#include <vector>

#include "ir/graph.h"
#include "ir/placement.h"

namespace podium::report {

/// One row an op; stages, phases and the rest only where there are any. `inherited` marks ops that say
/// nothing themselves.
std::string placement_table(const ir::Graph& graph, const ir::Placement& placement,
                            const std::vector<bool>& inherited);

/// One row a processor: its ops, the parameters they read, FLOP, and bytes that come and go: inputs and
/// outputs of the model and what processors send each other, each value once to each of them. Sizes that only
/// data decide count as nothing. With several phases, or stages that are not the processors, the same for
/// each of these below.
std::string placement_summary(const ir::Graph& graph, const ir::Placement& placement);

}  // namespace podium::report
