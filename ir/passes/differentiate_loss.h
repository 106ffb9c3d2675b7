// The way back from the loss of a graph that trains: its derivatives, what they are called, and where they
// run.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ir/passes/make_training.h"

namespace podium::ir {

/// The first value of a name; kNoValue when there is none.
ValueId find_value(const Graph& graph, std::string_view name);

/// Appends to the graph of the builder's Training the derivatives of `loss` by each of `xs` and by what the
/// request asks for beside them, times the loss scale. The gradient of a value x is named Gradient___x, and
/// Training::gradients says so. Ops keep their ids. Error for a loss that no op makes, and for an op without
/// derivative.
Derivatives differentiate_loss(UpdateBuilder& builder, ValueId loss, std::span<const ValueId> xs,
                               const TrainingRequest& request);

/// Where gradients are made.
struct GradientPlaces {
  std::vector<Attribute> start = {};                  ///< that of the loss itself
  std::map<ValueId, std::vector<Attribute>> of = {};  ///< those of the values that a gradient flows into
};

/// Derivatives run where the forward ops are whose gradients they compute, on the way back: they get their
/// annotations.
GradientPlaces place_derivatives(Graph& graph, const Derivatives& derivatives);

}  // namespace podium::ir
