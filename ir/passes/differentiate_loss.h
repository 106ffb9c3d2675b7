// The way back from the loss of a graph that trains: its derivatives, where they run and what they are
// called.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/passes/make_training.h"

namespace podium::ir {

struct Derivatives {
  std::vector<Attribute> start_place = {};  ///< where the gradient of the loss itself is made
  std::vector<ValueId> gradients = {};      ///< per x; kNoValue where nothing flows into it
  std::vector<Flow> flows = {};             ///< every value that a gradient flows into, with all that does
  std::map<ValueId, std::vector<Attribute>> places = {};  ///< of these values: where their gradients are made
};

/// The first value of a name; kNoValue when there is none.
ValueId find_value(const Graph& graph, std::string_view name);

/// Appends to the graph of the builder's Training the derivatives of `loss` by each of `xs` and by what the
/// request asks for beside them, times the loss scale. They run where the forward ops are whose gradients
/// they compute, on the way back. The gradient of a value x is named Gradient___x, and
/// Training::gradients says so. Error for a loss that no op makes, and for an op without derivative.
Derivatives differentiate_loss(UpdateBuilder& builder, ValueId loss, std::span<const ValueId> xs,
                               const TrainingRequest& request);

}  // namespace podium::ir
