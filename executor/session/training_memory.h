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

/// The memory for each weight that gets a gradient, where the strategy has it and what the optimizer's row
/// keeps for it, and for each forward op.
TrainingMemory memory_of_training(const ir::Differentiated& made, const ir::TrainingRequest& request,
                                  const Strategy& strategy, const device::Device& device);

}  // namespace podium
