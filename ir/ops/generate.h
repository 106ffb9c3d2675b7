// What Constant means, for its row, its kernel and whoever reads it from a model.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// The tensor that a Constant op holds in one of its attributes; Error when it is not exactly one.
Tensor constant_of(const Op& op);

}  // namespace podium::ir
