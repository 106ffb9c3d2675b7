// What decoders share.
#pragma once

#include "models/recipe.h"

namespace podium::models {

/// True where position i may look at position j; the first row is position `past`.
ir::Tensor causal_mask(std::int64_t sequence, std::int64_t past);

}  // namespace podium::models
