// RNNGradient (domain "podium"): what one direction of an RNN needs step by step on the way back. h of each
// step comes in, which says how steep the activation was; the gates' gradients come out.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// states [steps, batch, hidden]: h behind each step; R [hidden, hidden]; dY [steps, batch, hidden]; dY_h
/// [batch, hidden]; lengths [batch].
struct RnnGradientInput {
  enum Place : std::size_t { kStates, kR, kFlowY, kFlowH, kLengths };
};

/// The gradients of the gates before their activation, [steps, batch, hidden], and of the first state.
struct RnnGradientOutput {
  enum Place : std::size_t { kGates, kInitialH, kCount };
};

/// The derivative of the activation as a function of its result y: 1 - y^2, y > 0 or y (1 - y).
enum class RnnSlope : std::uint8_t { OfTanh, OfRelu, OfSigmoid };

/// Of an RNNGradient, by its attribute `activation`; Error for another one.
RnnSlope slope_of(const Op& op);

OpSpec rnn_gradient_row();

}  // namespace podium::ir
