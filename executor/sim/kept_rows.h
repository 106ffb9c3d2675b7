// How often a kernel over shared memory reads what it normalises.
#pragma once

#include "executor/device/device.h"
#include "ir/infer.h"

namespace podium::sim {

/// Whether a kernel keeps a row of so many elements from its statistics to its results: these are computed in
/// single precision, whatever the row is stored in.
bool keeps_row(double elements, const device::Device& device);

/// How often a kernel reads the first input of the op: once, or twice where the op needs a statistic of more
/// than a kernel keeps, a long row or all samples of a channel.
double operand_reads(const ir::TypedOp& op, const device::Device& device);

}  // namespace podium::sim
