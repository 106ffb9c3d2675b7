// Gradients are kept from being too long.
#pragma once

#include <span>

#include "ir/passes/weight_update.h"

namespace podium::ir {

/// Scales the gradients of each group of the optimizer's clip norms, once they are complete, by c / max(c,
/// norm); the norm is that of the reduced gradients of the group without loss scale, and a value
/// GlobalNorm___<group> (semantics, section 10.4; PopART takes what SGD adds to the weight, its loss scale
/// included).
void clip_by_norm(std::span<WeightUpdate> updates);

}  // namespace podium::ir
