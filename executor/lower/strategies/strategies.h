// The strategies: each a file of its own that builds a Program from a placed graph.
#pragma once

#include "executor/lower/draft/lowering.h"
#include "executor/program.h"

namespace podium::lower {

/// One processor after the other; with one processor, everything is one block, and the update of the
/// variables another.
executor::Program sharded(const Lowering& lowering);

/// Every stage works on another micro-batch (semantics, section 4). A constant that stages on several
/// processors read is on each of them, and so is a weight that trains, as a copy of its owner's. With
/// gradient accumulation the pipeline runs empty before an update; without, each stage of the backward pass
/// updates its variables as soon as it has their gradients, so that forward stages meet older ones
/// (semantics, section 4.4).
executor::Program pipelined(const Lowering& lowering);

/// A pipeline whose processors take the passes of micro-batches in the orders of a schedule
/// (semantics, section 4.6). It runs empty before an update.
executor::Program scheduled(const Lowering& lowering);

/// Phase after phase, each on its own processors; what it needs comes from streaming memory and goes back
/// there (semantics, section 8.1).
executor::Program phased(const Lowering& lowering);

/// The one that the facts ask for.
executor::Program run_strategy(const Lowering& lowering);

}  // namespace podium::lower
