// Matrix products on units that share a memory: pieces of the result, dealt out in waves; on a CPU vectors of
// columns, of which each thread has its share.
#pragma once

#include "executor/device/device.h"
#include "executor/sim/matrix_plan.h"

namespace podium::sim {

/// What shared memory delivers in the time that a product's operands take.
struct Delivered {
  double beside = 0;  ///< while units multiply
  double before = 0;  ///< they wait for it: beyond their own caches a CPU's cores fetch too little ahead
};

/// The time of the fastest choice of pieces, with what shared memory delivers, and a launch.
double tiled_seconds(const Product& product, const MatrixUnit& unit, const Delivered& bytes,
                     const device::Device& device);

}  // namespace podium::sim
