// GRUGradient (domain "podium"): what one direction of a GRU needs step by step on the way back.
//
// The products with X and with h, which products of all steps give again from X and Y, come in, and their
// gradients come out. All else of a GRU's gradient are products and sums over those for all steps at once.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// gates and products [steps, batch, 3 * hidden] in the order z, r, h: products with X and with h, with their
/// biases; the last third of the second is the product with h where r scales it, else that with r h. states
/// [steps, batch, hidden]: h before each step; R [3 * hidden, hidden]; dY [steps, batch, hidden]; dY_h
/// [batch, hidden]; lengths [batch].
struct GruGradientInput {
  enum Place : std::size_t { kGates, kProducts, kStates, kR, kFlowY, kFlowH, kLengths };
};

/// The gradients of gates and of products, in their shape, and of the first state.
struct GruGradientOutput {
  enum Place : std::size_t { kGates, kProducts, kInitialH, kCount };
};

/// Whether r scales the product with h, of a GRU or a GRUGradient; else it scales h before the product.
bool resets_after_product(const Op& op);

OpSpec gru_gradient_row();

}  // namespace podium::ir
