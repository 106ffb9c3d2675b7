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
  /// Whether an x without a gradient gets zeros; else it gets kNoValue.
  bool zeros = true;
  /// Called for each op that is appended, in their order, with the op whose gradient it computes. For an Add
  /// that sums two contributions to a gradient, that is the op that contributed last; none where nothing has.
  std::function<void(OpId forward)> grown = {};
  /// Called for each value that a gradient flows into, with that gradient once it is complete and the op that
  /// contributed to it last.
  std::function<void(ValueId value, ValueId gradient, OpId last)> flowed = {};
  /// Whether ops keep their ids until put_empty_sequences_first.
  bool keeps_ids = false;
};

/// Appends the ops for the gradients of the sum of all elements of `y` with respect to each of `xs`, which
/// are taken as independent of each other; zeros where y does not depend on one. Types must be inferred.
/// Contributions to one value are summed in the reverse order of the ops that read it: the same on every run.
/// Error names the node that has no gradient.
std::vector<ValueId> differentiate(Graph& graph, ValueId y, std::span<const ValueId> xs,
                                   const DifferentiateOptions& options = {});

/// A value and the gradient that flows into it.
struct FlowInto {
  ValueId value;
  ValueId gradient;
};

/// Differentiates with gradients that flow into several values; `options.start` is not read. A value of
/// `passed` is not taken as independent: gradients flow on through it. The result ends with the gradient of
/// each value of `passed`, kNoValue where nothing flows.
std::vector<ValueId> differentiate(Graph& graph, std::span<const FlowInto> flows, std::span<const ValueId> xs,
                                   std::span<const ValueId> passed, const DifferentiateOptions& options);

/// Per value of the graph: whether it is one of `xs` or changes smoothly with one.
IdMap<ValueId, bool> dependents(const Graph& graph, std::span<const ValueId> xs);

/// Where ops from `appended` on make an empty sequence, all that do are moved to the beginning: forward loops
/// may start with one.
void put_empty_sequences_first(Graph& graph, std::int64_t appended);

/// Gives each Dropout an output for its mask, since the gradient needs to know what was dropped, and each
/// LSTM one for the states of all steps.
void give_what_gradients_read(Graph& graph);

}  // namespace podium::ir
