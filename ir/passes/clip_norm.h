// Gradients are kept from being too long.
#pragma once

#include <span>

#include "ir/passes/weight_update.h"

namespace podium::ir {

/// Scales the gradients of each group of the optimizer's clip norms, once they are complete, by c / max(c,
/// norm); the norm is that of the reduced gradients of the group without loss scale and decay, and a value
/// GlobalNorm___<group> (semantics, section 10.4). A limit of infinity measures the norm and scales nothing.
/// This is the same for every optimizer, as PopART's own tests have it: they clip gradients before the
/// optimizer sees them. PopART itself measures SGD's scaled gradient or velocity and clips no adaptive
/// optimizer, which is a limitation (semantics, section 14, row 24).
void clip_by_norm(std::span<WeightUpdate> updates);

}  // namespace podium::ir
