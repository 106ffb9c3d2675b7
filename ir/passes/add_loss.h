// Appends a loss to a graph: how far an output is from a target that becomes an input.
#pragma once

#include <string>

#include "ir/graph.h"

namespace podium::ir {

enum class LossKind : std::uint8_t {
  CrossEntropy,           ///< of scores, whose softmax along axis 1 are the probabilities
  NegativeLogLikelihood,  ///< of probabilities along axis 1, of which none counts as less than 1e-7
  MeanSquaredError,
  L1
};

/// `output` is a value of static type; the loss is the mean over its samples, of the last two over its elements.
/// The target is the input `target`, which is made when the graph has none: class numbers (int64) without axis 1, or
/// for the last two a tensor like the output. The ops run where the output is made. Gives the loss's name. Error for an
/// output that is not there or that this loss cannot be of.
std::string add_loss(Graph& graph, LossKind kind, const std::string& output, const std::string& target);

}  // namespace podium::ir
