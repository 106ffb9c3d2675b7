// What of an optimizer may change between steps.
#pragma once

#include "ir/optimizer.h"

namespace podium {

/// Error unless the two differ in values alone that are constant in neither (semantics, section 10.1).
void check_replaceable(const ir::Optimizer& now, const ir::Optimizer& next);

}  // namespace podium
