// What an op costs, as far as its types tell.
#pragma once

#include "ir/infer.h"

namespace podium::ir {

/// The work of one run of the op. Empty for an op whose row counts none, and where the rank of an input
/// or output is known only when the op runs, or inference has refused the op inside a body.
Work work_of(const TypedOp& op);

}  // namespace podium::ir
