// Zeros that a device writes where they are needed: no tensor of them is kept for it.
#pragma once

#include "executor/lower/placed/placed_graph.h"

namespace podium::lower {

/// Whether every byte is 0, which a -0.0 is not.
bool is_all_zero(const ir::Tensor& tensor);

/// Copies of constant zeros (floats), as accumulators become them after an update, become ops that fill
/// memory with 0: a constant would be a weight on the device, as large as what it resets. Only a graph that
/// trains is changed.
void fill_with_zeros(PlacedGraph& placed);

}  // namespace podium::lower
