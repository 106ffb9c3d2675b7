// What of a Program's tensors a device moves in fewer bytes than their types have.
#pragma once

#include "executor/device/device.h"
#include "executor/program.h"

namespace podium::sim {

/// The bytes of a slot of each buffer as they go over links: those of its type, or a byte a number where all
/// that is written into it has been rounded to blocks of 8 bits, on a device whose units are faster at these.
ir::IdMap<executor::BufferId, double> moved_bytes(const executor::Program& program,
                                                  const device::Device& device);

}  // namespace podium::sim
