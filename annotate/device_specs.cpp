#include "annotate/device_specs.h"

#include <utility>

namespace podium::annotate {

ir::ShardingSpec whole_on(std::int64_t devices) {
  ir::ShardingSpec spec;
  spec.holders.resize(1);
  for (std::int64_t device = 0; device < devices; ++device) spec.holders[0].push_back(device);
  return spec;
}

ir::ShardingSpec one_on_each(ir::ShardedAxis axis, std::int64_t devices) {
  ir::ShardingSpec spec{.holders = {}, .axes = {std::move(axis)}};
  for (std::int64_t device = 0; device < devices; ++device) spec.holders.push_back({device});
  return spec;
}

}  // namespace podium::annotate
