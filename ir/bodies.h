// Passes inside the bodies of control-flow ops.
#pragma once

#include <functional>

#include "ir/graph.h"

namespace podium::ir {

bool has_body(const Op& op);
/// Runs `edit` on a copy of each body and keeps the copy where it changed something. True when one did.
bool edit_bodies(Op& op, const std::function<bool(Graph&)>& edit);

}  // namespace podium::ir
