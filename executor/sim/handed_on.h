// What the host's engine hands from a convolution to the next one inside of a cache.
#pragma once

#include <set>
#include <vector>

#include "executor/sim/device_kernels.h"
#include "ir/graph.h"

namespace podium::sim {

/// The results that go into and out of depthwise convolutions of large images with known weights, between
/// them and the one convolution that makes or reads them: the engine computes these together, a strip of rows
/// after the other (numeric/fuse_depthwise.h).
std::set<ir::ValueId> handed_on(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels);

}  // namespace podium::sim
