// Batch serialisation: a micro-batch is computed in slices, one after the other (semantics, section 8.2).
#pragma once

#include <vector>

#include "executor/lower/draft/draft.h"
#include "ir/passes/split_batch.h"

namespace podium::lower {

/// What one slice of a micro-batch is computed with.
struct Serialised {
  ir::Graph graph;
  ir::Placement placement;
  Options
      options;  ///< slices come and go over the tile sets, and beside the computation, as the IO mode says
  std::vector<int> input_axes;   ///< per graph input: along which axis it is sliced
  std::vector<int> output_axes;  ///< per graph output
};

/// Whether the options ask for slices.
bool is_serialised(const Options& options);

/// The outputs of `graph` are made by ops. Error for a batch that does not split and for an op that mixes
/// samples.
Serialised serialise_batch(const ir::Graph& graph, const ir::Placement& placement, const Options& options);

/// The forward graph of a training for one slice of its micro-batch. Errors as above.
ir::BatchSplit split_to_train(const ir::Graph& graph, const std::vector<ir::Variable>& weights,
                              const Options& options);

/// Tells the inputs and outputs of the Program that they come and go in slices.
void slice_host_tensors(executor::Program& program, const Serialised& serialised);

/// Slices come and go as the IO mode says where nothing else is asked for.
void move_as_asked(const ir::Graph& graph, ir::Placement& placement, Options& options);

/// The same for a graph that trains, which is one slice's already.
void slice_host_tensors(executor::Program& program, const ir::Training& training, const Options& options);

}  // namespace podium::lower
