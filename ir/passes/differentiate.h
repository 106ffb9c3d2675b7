// Reverse-mode differentiation: appends to a graph the ops that compute gradients.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/graph.h"

namespace podium::ir {

struct DifferentiateOptions {
  /// The gradient of `y`, of its type. kNoValue: ones.
  ValueId start = kNoValue;
  /// For an x that nothing flows into: zeros, else kNoValue.
  bool zeros = true;
  /// Called for each op that is appended, with the op whose gradient it computes; of a sum of gradients that
  /// is the op that contributed last.
  std::function<void(const Op& forward, Op& grown)> grown = {};
  /// Called for each value that a gradient flows into, with that gradient once it is complete.
  std::function<void(ValueId value, ValueId gradient)> flowed = {};
};

/// Appends the ops for the gradients of the sum of all elements of `y` with respect to each of `xs`, which
/// are taken as independent of each other; zeros where y does not depend on one. Types must be inferred.
/// Contributions to one value are summed in the reverse order of the ops that read it: the same on every run.
/// Error names the node that has no gradient.
std::vector<ValueId> differentiate(Graph& graph, ValueId y, std::span<const ValueId> xs,
                                   const DifferentiateOptions& options = {});

}  // namespace podium::ir
