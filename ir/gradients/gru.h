// The gradient of a GRU by an op of its own.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Whether a GRU has Y and neither clipping nor activations of its own.
bool has_gru_gradient(const Op& op);

/// Appends a GRUGradient for each direction of such a GRU, and the products over all steps around it.
void append_gru_gradient(GradientContext& context);

}  // namespace podium::ir
