// How a matrix product is cut over the tiles of a processor, and how long it takes then. The model: fixed
// overhead, multiply-adds at the unit's rate, loading each group of 16 x 64 weights into the unit, receiving
// the operands that other tiles hold, and adding up partial sums where the inner dimension is cut. Its few
// constants are the device's, fitted on dense products of 1024 to 4096 squared (mean error 7 %).
#pragma once

#include <limits>

#include "executor/device/device.h"

namespace podium::sim {

/// Columns that a matrix unit takes at once; fewer leave a part of it idle.
inline constexpr double kUnitColumns = 16;

/// `count` products [rows, inner] x [inner, columns]; the second operand is the one held in the unit
/// (weights).
struct Product {
  double count = 1;
  double rows = 0;
  double inner = 0;
  double columns = 0;
  /// Stored elements of the first operand, divided by rows * inner: below 1 where windows of a convolution
  /// overlap and are read from one copy.
  double stored_share = 1;
  /// Bytes of the second operand as it is stored, divided by those of its type: below 1 for quantised weights
  /// that a kernel widens as it reads them. Over shared memory alone.
  double weights_share = 1;
};

/// A tile's matrix unit for one element type, as the plan needs it.
struct MatrixUnit {
  int tiles = 1;
  double multiply_adds_per_cycle = 0;
  double overhead_cycles = 0;
  double weights_cycles = 0;  ///< of a group of 16 x 64
  double exchange_bytes_per_cycle = 0;
  double copy_bytes_per_cycle = 0;
  double element_bytes = 0;
  double partial_bytes = 0;  ///< of an element of a partial sum
  /// Of a tile's memory for operands that it receives and partial sums, where a plan can do with it.
  double most_temporary_bytes = std::numeric_limits<double>::infinity();
};

/// `half_partials`: 16-bit operands are summed up in 16 bits.
MatrixUnit matrix_unit(const device::Device& device, int tiles, double element_bytes,
                       bool half_partials = false);

/// The number of parts of each dimension, and the cycles of the slowest tile.
struct MatrixPlan {
  int counts = 1;
  int rows = 1;
  int inners = 1;
  int columns = 1;
  int serial = 1;  ///< parts of the product that come one after the other, each cut like that
  double compute_cycles = 0;
  double exchange_cycles = 0;
  double temporary_bytes = 0;  ///< of one tile: received operands and partial sums
  double cycles() const { return compute_cycles + exchange_cycles; }
};

/// The fastest plan, whichever operand is held in the unit. One that needs more temporary bytes than the unit
/// allows is for a part of the product, and the parts come one after the other. Plans are remembered by shape
/// and unit, so equal products cost one search.
MatrixPlan plan_product(const Product& product, const MatrixUnit& unit);

}  // namespace podium::sim
