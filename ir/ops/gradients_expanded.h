// Derivatives of ops that simpler ops can compute, too.
#pragma once

#include "ir/ops/gradients.h"

namespace podium::ir {

/// Appends an op's computation in other ops, through the builder of the context it is given. There the op's
/// inputs are those of a graph of its own and its outputs are left out; gives the outputs, kNoValue for one
/// that nothing flows into.
using Expansion = std::vector<ValueId> (*)(GradientContext&);

/// Appends the ops of `part`, whose inputs are these values. Gives what its outputs are.
std::vector<ValueId> append_graph(Builder& builder, const Graph& part, const std::vector<ValueId>& inputs);

/// Sets the gradients of the op's inputs to those of its expansion.
void differentiate_expansion(GradientContext& context, Expansion expand);

}  // namespace podium::ir
