// Gradients of weights that several processors read.
#pragma once

#include "executor/lower/placed/placed_graph.h"
#include "executor/strategy.h"

namespace podium::lower {

/// Where micro-batches add to an accumulator a sum of gradients that several processors make, as those of a
/// table that the first stage looks words up in and the last one scores them with, or of devices that share
/// out the tokens, each processor adds its own to an accumulator of its own, which is zero before the first.
/// Updates read the sum of all, the one that was there in front. So gradients go to another processor once
/// per update, not with each micro-batch; they add up in another order than on one processor.
///
/// Where exchanges are part of the supersteps of all processors they go together, as on one processor, but
/// for those that other stages of the accumulator's processor make: each of them would wait there for as many
/// micro-batches as are under way.
void accumulate_where_made(PlacedGraph& placed, Exchanges exchanges);

}  // namespace podium::lower
