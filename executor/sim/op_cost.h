// How long one op takes on one processor. Knows types, never numbers of a model.
#pragma once

#include "executor/device/device.h"
#include "ir/infer.h"

namespace podium::sim {

/// Cycles are those of the slowest tile; seconds = their sum / clock. On a machine that is not synchronous
/// the cycles are 0 and seconds is a roofline's.
struct OpCost {
  double seconds = 0;
  double compute_cycles = 0;
  double exchange_cycles = 0;  ///< between tiles of the processor
  double sync_cycles = 0;
  double flop = 0;
  double matrix_flop = 0;      ///< of them in matrix units
  double ideal_seconds = 0;    ///< of the flop at the processor's peak rate for their type
  double temporary_bytes = 0;  ///< copies of operands and partial sums, all tiles together

  /// One after the other: times add up, of temporary memory the larger counts.
  OpCost& operator+=(const OpCost& other);
  friend OpCost operator*(OpCost cost, double times);
};

/// What one run of the op costs on `tiles` tiles of a processor. A control-flow op costs what its bodies
/// cost: If the dearer branch, Loop and Scan every trip. Error when a size or a number of trips is known only
/// by a run.
OpCost op_cost(const ir::TypedOp& op, const device::Device& device, int tiles);

/// Whether the device is this machine with Podium's own engine.
bool is_host(const device::Device& device);

/// Whether the device computes products whose operands are rounded to 8 bits in 8 bits, and keeps these so.
/// This machine's engine multiplies them as floats.
bool is_faster_at_8_bits(const device::Device& device);

/// Whether a runtime of the device has room behind tensors that it puts others behind, as keys and values
/// behind those of the past: over shared memory, where all is fused, but not this machine's engine.
bool appends_in_place(const device::Device& device);

/// Whether a product of whole numbers (ir::kMultipliesBytes) runs as one of bytes: over shared memory, on
/// units that are faster at it.
bool multiplies_bytes(const ir::Op& op, const device::Device& device);

/// Multiply-adds and adds per second of a processor's matrix units (vector units where there is no product in
/// this type), two to a multiply-add.
double peak_flop_per_second(const device::Device& device, ir::DataType type);

}  // namespace podium::sim
