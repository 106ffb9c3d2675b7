// The bodies of ops of control flow and their op.
#pragma once

#include "ir/graph.h"

namespace podium::ir {

/// Error when a body takes or gives another number of values than its op hands it or takes from it: that is
/// wrong even where the body never runs, and no types are needed to tell it.
void check_bodies(const Op& op);

}  // namespace podium::ir
