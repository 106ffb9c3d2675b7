// A graph for a part of its batch: batch serialisation runs it several times and puts the slices together.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"
#include "ir/training.h"

namespace podium::ir {

struct BatchSplit {
  Graph graph;
  /// Per graph input: the axis along which it is sliced; nothing for a weight.
  std::vector<std::optional<int>> input_axes = {};
  std::vector<int> output_axes = {};  ///< per graph output: the axis along which slices are put together
  IdMap<ValueId, int> axes = {};      ///< the axis of the samples, or a constant of ir/ops/totals.h
};

/// For each input of the graph the axis of its samples: the first, or the one that a recurrent op which reads
/// the input takes for its sequences.
IdMap<ValueId, int> sample_axes(const Graph& graph);

/// The graph for 1 / `slices` of the batch. The batch is the axis that sample_axes gives every input;
/// `weights` are inputs without samples. Constants that hold the batch's size, such as the shape of a
/// Reshape, are changed to the slice's. Ops, inputs, outputs and values keep their places. All types are
/// known. Error for an input that does not split evenly, and for an op that mixes samples or may mix them: it
/// names the op.
BatchSplit split_batch(const Graph& graph, int slices, const std::vector<Variable>& weights = {});

/// Splits the batch of a graph that is to train. Beside outputs with an
/// axis of samples, there may be sums and means over the samples, as losses are. A mean is divided by the
/// number of slices and keeps its name, so that the slices' outputs, and their gradients, add up to those of
/// the micro-batch.
BatchSplit split_to_train(const Graph& graph, int slices, const std::vector<Variable>& weights);

/// Sets in a Training made of such a graph how slices are put together. Error for an output of which that is
/// not known.
void set_slices(Training& training, const BatchSplit& split, int slices);

}  // namespace podium::ir
