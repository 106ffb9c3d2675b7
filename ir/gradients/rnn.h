// The gradient of an RNN by an op of its own.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Whether an RNN has Y, no clipping, and activations whose results say how steep they are: Tanh, Relu or
/// Sigmoid.
bool has_rnn_gradient(const Op& op);

/// Appends an RNNGradient for each direction of such an RNN, and the products over all steps around it.
void append_rnn_gradient(GradientContext& context);

}  // namespace podium::ir
