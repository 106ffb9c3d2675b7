// A placed graph becomes a Program, by one of the strategies in the list of lower.cpp.
#pragma once

#include <functional>

#include "executor/lower/draft/passes.h"
#include "executor/lower/placed/locations.h"
#include "executor/program.h"
#include "executor/strategy.h"
#include "ir/placement.h"
#include "ir/training.h"

namespace podium::lower {

/// Makes outputs of the anchors that are none yet. Comes before passes that remove values. Error names an
/// anchor that is no tensor of the graph.
void add_anchors(ir::Graph& graph, const Strategy& strategy);

/// `graph` has static types wherever a buffer of more than one slot is needed; `placement` fits it, and the
/// options have been checked (check_options). The Program has been through plan_memory and verify.
/// `warnings`, where given, gets what was asked for and cannot be.
executor::Program lower(ir::Graph graph, const ir::Placement& placement, const Strategy& strategy,
                        Warnings* warnings = nullptr);

/// The same for a graph that trains: accumulationFactor micro-batches, then an update, batchesPerStep times.
/// `use_passes`, where given, is shown the passes of the pipeline on the way.
executor::Program lower(ir::Training training, const ir::Placement& placement, const Strategy& strategy,
                        Warnings* warnings = nullptr, const UsePasses& use_passes = {});

/// Shows the passes of a pipeline that trains, as `lower` cuts them, without putting them in order.
void show_passes(ir::Training training, const ir::Placement& placement, const Strategy& strategy,
                 const UsePasses& use_passes);

/// Everything on processor 0, with default options.
executor::Program on_one_processor(ir::Graph graph);

}  // namespace podium::lower
