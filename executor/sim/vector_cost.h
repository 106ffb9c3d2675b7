// What a processor does besides matrix products: loads, vector operations, stores, and what its tiles give
// each other.
#pragma once

#include "executor/sim/op_cost.h"

namespace podium::sim {

/// Of all tiles together where nothing else is said.
struct VectorWork {
  double bytes = 0;  ///< loaded and stored
  double flop = 0;
  double element_bytes = 4;
  double received_bytes = 0;  ///< by each tile from others
  double copied_bytes = 0;    ///< by each tile, to where the next op wants them
  double phases = 1;          ///< compute and exchange supersteps
};

/// Every load, operation and store of a vector takes a cycle of its tile; what is received and copied comes
/// on top. On a machine that is not synchronous a roofline: the flop at the vector units' rate or the bytes
/// at shared memory's, whichever takes longer.
OpCost vector_cost(const VectorWork& work, const device::Device& device, int tiles);

/// Shared memory brings `bytes` while units compute for `cycles`: the slower decides. Each phase is a launch.
double roofline_seconds(const device::Device& device, int tiles, double cycles, double bytes, double phases);

}  // namespace podium::sim
