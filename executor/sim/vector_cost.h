// The cost of a processor's work besides matrix products: loads, vector operations, stores, and the exchange
// between its tiles.
#pragma once

#include "executor/sim/op_cost.h"

namespace podium::sim {

/// The work of one op. Numbers are sums over all tiles where nothing else is said.
struct VectorWork {
  double bytes = 0;  ///< loaded and stored
  double flop = 0;
  double element_bytes = 4;
  double received_bytes = 0;  ///< by each tile from others
  double copied_bytes = 0;    ///< by each tile, to where the next op wants them
  double phases = 1;          ///< compute and exchange supersteps
};

/// Every load, operation and store of a vector takes a cycle of its tile; receiving and copying come on top.
/// On a machine that is not synchronous the cost is a roofline: the flop at the vector units' rate or the
/// bytes at shared memory's rate, whichever takes longer.
OpCost vector_cost(const VectorWork& work, const device::Device& device, int tiles);

/// Bytes that caches hold.
struct CacheRoom {
  double all = 0;
  double near = 0;  ///< of them in the tiles' own
};

CacheRoom cache_room(const device::Device& device, int tiles);

/// What shared memory delivers in the time that so many bytes take, of which as many as there is room for are
/// in the caches.
double memory_bytes(double bytes, const CacheRoom& room, const device::Device& device);

/// Shared memory, or the cache where all fits into it, delivers `bytes` while the units compute for `cycles`:
/// the slower of the two decides. Each phase is a launch.
double roofline_seconds(const device::Device& device, int tiles, double cycles, double bytes, double phases);

}  // namespace podium::sim
