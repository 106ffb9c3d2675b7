// How far the host, which dispatches kernels one after the other, is ahead of a device that computes them.
#pragma once

#include "executor/program.h"
#include "executor/sim/costs.h"

namespace podium::sim {

/// Shortens blocks whose dispatch is slower than their kernels by what the host has gained since it last
/// waited. `costs` has each block as if the host began with it: the longer of both. A block that runs at
/// several places gets the mean of them.
void let_host_run_ahead(const executor::Program& program, Costs& costs);

}  // namespace podium::sim
