// A graph for a part of its batch: batch serialisation runs it several times and puts the slices together.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ir/training.h"

namespace podium::ir {

struct BatchSplit {
  Graph graph;
  std::vector<int> input_axes = {};   ///< per graph input: the axis along which it is sliced
  std::vector<int> output_axes = {};  ///< per graph output: the axis along which slices are put together
  std::vector<int> axes = {};         ///< per value: the axis of the samples, or a constant of sample_total.h
};

/// The same graph for 1 / `slices` of the batch. The batch is the first axis of every input, or what a
/// recurrent op that reads the input takes for it. Constants that hold the batch's size, as the shape of a
/// Reshape does, follow. Ops, inputs, outputs and values keep their places; types are all known. Error for an
/// input that does not split evenly, and for an op that mixes samples or of which that is not known: it names
/// the op.
BatchSplit split_batch(const Graph& graph, int slices);

/// The same for a graph that becomes one that trains: `weights` are inputs without samples, and outputs may
/// also be sums and means over the samples, as losses are. A mean becomes a slice's share of it, under its
/// name: what slices make of such an output adds up to what the micro-batch makes, and so do their gradients.
BatchSplit split_to_train(const Graph& graph, int slices, const std::vector<Variable>& weights);

/// Tells a Training made of such a graph how slices are put together. Error for an output of which that is
/// not known.
void set_slices(Training& training, const BatchSplit& split, int slices);

}  // namespace podium::ir
