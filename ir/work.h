// What an op costs, as far as its types tell.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// Nothing for an op that counts none, and for one whose inputs' ranks only data decides.
Work work_of(const TypedOp& op);

}  // namespace podium::ir
