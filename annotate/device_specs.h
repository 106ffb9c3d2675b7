// Specs over the devices from 0 on.
#pragma once

#include <cstdint>

#include "ir/sharding_spec.h"

namespace podium::annotate {

/// All of a tensor on each device.
ir::ShardingSpec whole_on(std::int64_t devices);
/// An axis, whose shards the caller has said, with a shard on each device, in their order.
ir::ShardingSpec one_on_each(ir::ShardedAxis axis, std::int64_t devices);

}  // namespace podium::annotate
