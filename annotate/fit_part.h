// An op that computes a part of another one says the sizes of the part.
#pragma once

#include <vector>

#include "annotate/holdings.h"
#include "annotate/op_cut.h"

namespace podium::annotate {

/// `part` is a copy of the op `whole`, cut as `cut` says, with the inputs that a device has; `boxes` are
/// those of its outputs. Constants that it needs are added to the graph of `held`.
void fit_part(ir::Op& part, const ir::TypedOp& whole, const OpCut& cut, int device,
              const std::vector<Box>& boxes, Holdings& held);

}  // namespace podium::annotate
