// Cuts the body of a Repeat into the parts that share nothing.
#pragma once

#include <vector>

#include "executor/sim/tasks.h"

namespace podium::sim {

/// Cuts a loop of `count` iterations. Each part runs at its own pace, so it can be clocked through all
/// iterations alone and has one steady state. The items, with all that is in them, are in `tasks` already.
std::vector<LoopPart> parts_of(const Tasks& tasks, const std::vector<Item>& items, std::int64_t count);

}  // namespace podium::sim
