// Locations of variables and activations as strategies of tests choose them.
#pragma once

#include "executor/strategy.h"

namespace podium::testing {

inline void put_off_chip(LocationSettings& settings) { settings.location.storage = ir::Storage::OffChip; }

/// Weights with their states and accumulators.
inline void put_variables_off_chip(Strategy& strategy) {
  for (LocationSettings* settings : {&strategy.weights, &strategy.optimizer_state, &strategy.accumulators}) {
    put_off_chip(*settings);
  }
}

/// From two elements on, so that small tensors are in parts too.
inline void shard(LocationSettings& settings) {
  settings.location.sharded = true;
  settings.min_elements_for_sharding = 2;
}

}  // namespace podium::testing
