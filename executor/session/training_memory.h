// What training needs of a processor's memory, for placing a model that trains by cost.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "executor/device/device.h"
#include "executor/strategy.h"
#include "ir/passes/make_training.h"

namespace podium {

/// Bytes that a processor which trains a weight needs for it.
struct TrainedWeight {
  std::int64_t held = 0;           ///< all the time: itself, its gradient, what the optimizer keeps of it
  std::int64_t while_updated = 0;  ///< on top of that
  std::int64_t copy = 0;           ///< what another processor holds that computes with it
};
struct TrainingMemory {
  std::map<ir::ValueId, TrainedWeight> weights = {};
  std::int64_t code_per_op = 0;  ///< bytes of a forward op's code and that of its derivatives
  /// What each forward op makes that waits for the backward pass: bytes of a slice of a micro-batch.
  std::vector<std::int64_t> stash_bytes = {};
};

/// The memory for each weight of `training`, whose variables live where the strategy says, and for each of
/// its first `forward_ops` ops, which are those of the graph that it was made of.
TrainingMemory memory_of_training(const ir::Training& training, std::size_t forward_ops,
                                  const Strategy& strategy, const device::Device& device);

}  // namespace podium
