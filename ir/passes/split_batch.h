// A graph for a part of its batch: batch serialisation runs it several times and puts the slices together.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium::ir {

struct BatchSplit {
  Graph graph;
  std::vector<int> input_axes = {};   ///< per graph input: the axis along which it is sliced
  std::vector<int> output_axes = {};  ///< per graph output: the axis along which slices are put together
};

/// The same graph for 1 / `slices` of the batch. The batch is the first axis of every input, or what a
/// recurrent op that reads the input takes for it. Constants that hold the batch's size, as the shape of a
/// Reshape does, follow. Ops, inputs, outputs and values keep their places; types are all known. Error for an
/// input that does not split evenly, and for an op that mixes samples or of which that is not known: it names
/// the op.
BatchSplit split_batch(const Graph& graph, int slices);

}  // namespace podium::ir
