// Plain arithmetic of floats as loops over a piece, with nothing around them: an optimizer's equations.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace podium::kernels {

/// What an operand of an op of a chain is for a piece.
enum class ChainOperand : std::uint8_t { Piece, Number };

/// y[i] = op(a[i], b[i]) for `count` elements, or a number's only element for each; b is not read by an op of
/// one operand. y may be a or b, and overlaps neither else. The bits are those of the op's own kernel.
using ChainLoop = void (*)(const float* a, const float* b, float* y, std::int64_t count);

/// nullptr where the op has none. One operand at least is a piece.
ChainLoop find_chain_loop(const ir::Op& op, ChainOperand a, ChainOperand b);

}  // namespace podium::kernels
