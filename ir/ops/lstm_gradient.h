// LSTMGradient (domain "podium"): what one direction of an LSTM needs step by step on the way back.
//
// The gates before their activations, which one product of all steps gives again from X and Y, come in, and
// their gradients come out. All else of an LSTM's gradient are products and sums over those for all steps
// at once, which ordinary ops compute.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// gates [steps, batch, 4 * hidden] in the order i, o, f, c, with every product and bias added; R [4 *
/// hidden, hidden]; dY [steps, batch, hidden]; states [batch, hidden]; lengths [batch].
struct LstmGradientInput {
  enum Place : std::size_t { kGates, kR, kFlowY, kFlowH, kFlowC, kInitialC, kLengths };
};

/// The gradients of the gates, in their shape, and of the first states.
struct LstmGradientOutput {
  enum Place : std::size_t { kGates, kInitialH, kInitialC, kCount };
};

OpSpec lstm_gradient_row();

}  // namespace podium::ir
