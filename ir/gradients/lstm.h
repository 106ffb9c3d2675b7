// The gradient of an LSTM by an op of its own.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// Appends an LSTMGradient for each direction, and the products over all steps around it. False, with nothing
/// appended, for an LSTM without Y, with peepholes, clipping, coupled gates or activations of its own.
bool append_lstm_gradient(GradientContext& context);

}  // namespace podium::ir
