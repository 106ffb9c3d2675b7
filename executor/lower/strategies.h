// The strategies: each a file of its own that builds a Program from a placed graph.
#pragma once

#include "executor/options.h"
#include "executor/program.h"
#include "ir/placement.h"

namespace podium::lower {

/// One processor after the other; with one processor, everything is one block.
executor::Program sharded(const ir::Graph& graph, const ir::Placement& placement, const Options& options);

/// Every stage works on another micro-batch (semantics, section 4). A constant that stages on several
/// processors read is on each of them. Error when there are fewer micro-batches than stages, adjacent ones on
/// one processor counted once.
executor::Program pipelined(const ir::Graph& graph, const ir::Placement& placement, const Options& options);

}  // namespace podium::lower
