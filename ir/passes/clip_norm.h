// Gradients are kept from being too long.
#pragma once

#include <span>

#include "ir/passes/weight_update.h"

namespace podium::ir {

/// Scales the gradients of each group of the optimizer's clip norms, once they are complete, by c / max(c,
/// norm); the norm is that of the reduced gradients of the group without loss scale and decay, and a value
/// GlobalNorm___<group> (semantics, section 10.4). So for every optimizer: that PopART measures the scaled
/// gradient of SGD, or its velocity, and clips no adaptive optimizer is a limitation of it (section 14, row
/// 24), and its own tests hold all of them against gradients that are clipped before the optimizer sees them.
void clip_by_norm(std::span<WeightUpdate> updates);

}  // namespace podium::ir
