// The chunks of a pipeline and the passes of each: what a schedule puts in order.
#pragma once

#include <vector>

#include "executor/lower/placed/placed_graph.h"
#include "executor/schedule/schedule.h"

namespace podium::lower {

/// Whether stages that follow each other on one processor are one chunk.
enum class Adjacent : std::uint8_t { AreOne, AreApart };

/// The pass of a chunk that an op belongs to.
struct ChunkPass {
  schedule::Pass pass = schedule::Pass::Forward;
  int chunk = 0;
};

struct Chunks {
  schedule::Layout layout = {};
  ir::IdMap<ir::OpId, ChunkPass> of_op = {};  ///< of ops that run in each micro-batch
};

/// The stages of the forward pass are the chunks; those behind the loss are their way back. The input
/// gradient of a chunk is what other chunks need of its way back, the weight gradient all else: the gradients
/// of biases and scales too. Ops of the loss's stage go forward unless they lead to a gradient and not to the
/// loss. A graph that does not train goes forward alone.
Chunks find_chunks(const PlacedGraph& placed, Adjacent adjacent);

}  // namespace podium::lower
