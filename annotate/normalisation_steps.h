// Ops that normalise, written as steps, each of which can be cut along the axes over which they do.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

/// The axes of the first input over which the op normalises: one of a Softmax, LogSoftmax or
/// SoftmaxCrossEntropyLoss, all but that of the channels of a BatchNormalization that trains. None of an op
/// that is not written as steps: any other, a loss with weights, labels that do not count or the logarithms
/// as output, and a BatchNormalization of several types.
std::vector<std::int64_t> axes_of_steps(const ir::Graph& graph, const ir::Op& op);

/// The steps of such an op, which make its outputs: values and constants that they need are added to the
/// graph. They have the op's name and its annotations but what it says of operands, which are others.
std::vector<ir::Op> normalisation_steps(ir::Graph& graph, const ir::Op& op);

}  // namespace podium::annotate
