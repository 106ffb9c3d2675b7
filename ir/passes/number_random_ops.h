// Gives each random op a stream of numbers of its own, so that what it draws follows from the model alone and
// not from how the model is cut, copied or ordered.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace podium::ir {

/// Random ops with an attribute `seed` draw by it.
enum class Seeded : std::uint8_t {
  AsOnnxDoes,     ///< by the seed alone, the same in every run: they get no stream
  ForEachMoment,  ///< in a session that trains, other numbers for each micro-batch
};

/// Numbers the random ops of a graph and of its bodies in their order. Comes before all that edits the graph.
/// Ops that are numbered already keep their numbers. Returns whether it changed the graph.
bool number_random_ops(Graph& graph, Seeded seeded);

}  // namespace podium::ir
