// Matrix products on units that share a memory: pieces of the result, dealt out in waves; on a CPU vectors of
// columns, of which each thread has its share.
#pragma once

#include "executor/device/device.h"
#include "executor/sim/matrix_plan.h"

namespace podium::sim {

/// The time of the fastest choice of pieces, while shared memory delivers `bytes`, and a launch. The operands
/// of a product come from memory: what other kernels did since has left nothing of them in the cache.
double tiled_seconds(const Product& product, const MatrixUnit& unit, double bytes,
                     const device::Device& device);

}  // namespace podium::sim
