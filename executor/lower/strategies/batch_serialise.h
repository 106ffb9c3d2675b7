// Batch serialisation: a micro-batch is computed in slices, one after the other (semantics, section 8.2).
#pragma once

#include <vector>

#include "executor/lower/placed/placed_graph.h"
#include "executor/program.h"
#include "executor/strategy.h"
#include "ir/passes/split_batch.h"

namespace podium::lower {

/// The forward graph of a training for one slice of its micro-batch. Error for a batch that does not split
/// and for an op that mixes samples.
ir::BatchSplit split_to_train(const ir::Graph& graph, const std::vector<ir::Variable>& weights,
                              const Strategy& strategy);

/// The graph for one slice, where the strategy asks for slices. A graph that trains is one slice's already.
/// Outputs are made by ops. Errors as above.
void slice_batch(PlacedGraph& placed, const Strategy& strategy);

/// Slices come and go over the tile sets, and beside the computation, as the IO mode says, where nothing else
/// is asked for.
void move_as_asked(PlacedGraph& placed, Strategy& strategy);

/// Tells the inputs and outputs of the Program that they come and go in slices.
void slice_host_tensors(executor::Program& program, const ir::Training& training, const Strategy& strategy);

}  // namespace podium::lower
