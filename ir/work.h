// What an op costs, as far as its types tell.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// The work of one run of the op. Empty for an op whose row counts none, and where the rank of an input is
/// known only when the op runs.
Work work_of(const TypedOp& op);

}  // namespace podium::ir
