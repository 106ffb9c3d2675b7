// The strategies: each a file of its own that builds a Program from a placed graph.
#pragma once

#include "executor/lower/locations.h"
#include "executor/options.h"
#include "executor/program.h"
#include "ir/placement.h"

namespace podium::lower {

/// One processor after the other; with one processor, everything is one block.
executor::Program sharded(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                          Warnings& warnings);

/// Stages of the pipeline: adjacent ones on one processor count once (semantics, section 4.1).
int count_stages(const ir::Placement& placement);

/// Every stage works on another micro-batch, of which there are at least as many (semantics, section 4). A
/// constant that stages on several processors read is on each of them.
executor::Program pipelined(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                            Warnings& warnings);

/// Phase after phase, each on its own processors; what it needs comes from streaming memory and goes back
/// there (semantics, section 8.1).
executor::Program phased(const ir::Graph& graph, const ir::Placement& placement, const Options& options,
                         Warnings& warnings);

}  // namespace podium::lower
