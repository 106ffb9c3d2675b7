// What kernels find in the cache between a processor's cores and its memory.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "executor/sim/device_kernels.h"

namespace podium::sim {

/// For each kernel the bytes of it that a cache of `cache_bytes` serves when the kernels run in their order,
/// again and again: what was touched before, in the round before it too, and results that are read again,
/// with at most the cache's bytes touched between. A state that an update writes is where the one was that it
/// has read. What is `kept` is found whatever has been touched.
std::vector<std::int64_t> cached_bytes(const ir::Graph& graph, const std::vector<DeviceKernel>& kernels,
                                       std::int64_t cache_bytes, const std::set<ir::ValueId>& kept = {});

}  // namespace podium::sim
