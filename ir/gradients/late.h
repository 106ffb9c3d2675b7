// The gradient of an op in a graph where a builder needs shapes or numbers that only the run knows:
// LateGradient (domain "podium") stands for it until then.
#pragma once

#include <vector>

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Whether LateGradient can stand for the gradient of the context's op: the op has no bodies and its inputs
/// and outputs are tensors.
bool can_be_late(const GradientContext& context);
/// Appends a LateGradient and sets the gradients of the wanted inputs.
void append_late_gradient(GradientContext& context);

/// Builds the outputs of the context's op, a LateGradient, from its inputs with the gradient builder of the
/// op that it stands for. NeedsRun when not enough is known.
std::vector<ValueId> late_gradient_outputs(GradientContext& context);

}  // namespace podium::ir
