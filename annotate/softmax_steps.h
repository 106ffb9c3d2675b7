// Softmax and its kin written as steps, each of which can be cut along the axis of the classes.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace podium::annotate {

/// The axis of the first input over which the op normalises; nothing for an op that is not written as steps:
/// one that is no Softmax, LogSoftmax or SoftmaxCrossEntropyLoss, and a loss with weights, labels that do not
/// count or the logarithms as output.
std::optional<std::int64_t> axis_of_steps(const ir::Graph& graph, const ir::Op& op);

/// The steps of such an op: values and constants that they need are added to the graph, the last one makes
/// the op's output. They have the op's name and its
/// annotations but what it says of operands, which are others.
std::vector<ir::Op> softmax_steps(ir::Graph& graph, const ir::Op& op);

}  // namespace podium::annotate
