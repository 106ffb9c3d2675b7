// The gradient of an LSTM by an op of its own.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Whether an LSTM has Y and neither peepholes, clipping, coupled gates nor activations of its own.
bool has_lstm_gradient(const Op& op);

/// Appends an LSTMGradient for each direction of such an LSTM, and the products over all steps around it.
void append_lstm_gradient(GradientContext& context);

}  // namespace podium::ir
