// Forward ops that run again for the backward pass, so that what they make need not wait for it (semantics,
// sections 4.3 and 12.2).
#pragma once

#include "executor/lower/placed/placed_graph.h"
#include "executor/strategy.h"

namespace podium::lower {

/// Which ops of the forward pass run again: those annotated so, and those the options choose among the ops
/// without an annotation. An op with random numbers never does: what it made is kept.
/// - Standard: between checkpoints, which are where the least waits in each of ever shorter intervals;
/// - NormOnly: normalizations;
/// - Pipeline, RecomputeAll: everything, but for the stage and phase of the loss where there are several.
/// Of a pipeline that accumulates gradients, what weights alone make runs again whatever is chosen.
ir::IdMap<ir::OpId, bool> ops_to_recompute(const PlacedGraph& placed, const Strategy& strategy);

/// Values of the forward pass that wait for the backward pass: those it reads, or those that what runs again
/// for it reads.
std::vector<ir::ValueId> kept_for_backward(const PlacedGraph& placed, const Strategy& strategy);

/// Copies those ops where ops of the backward pass on their processor read what they make: right before their
/// first reader in a stage and phase. What comes from another processor is kept.
void recompute(PlacedGraph& placed, const Strategy& strategy);

}  // namespace podium::lower
