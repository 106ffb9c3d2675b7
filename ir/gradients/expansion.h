// Derivatives of ops that simpler ops can compute, too.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Appends simpler ops that compute the same as the context's op. The context holds a graph of its own, whose
/// inputs stand for the op's inputs and in which the op has no outputs. Gives the values that stand for the
/// op's outputs, kNoValue for an output that nothing flows into.
using Expansion = std::vector<ValueId> (*)(GradientContext&);

/// Appends the ops of `part` with `inputs` for its inputs. Gives the values that stand for its outputs.
std::vector<ValueId> append_graph(Builder& builder, const Graph& part, const std::vector<ValueId>& inputs);

/// The type of what is left of a value when one element of an axis is taken. NeedsRun where its rank is not
/// known.
Type slice_type(const TermBuilder& builder, ValueId value, std::int64_t axis);

/// Sets the gradients of the op's inputs: those that its expansion has.
void differentiate_expansion(GradientContext& context, Expansion expand);

}  // namespace podium::ir
