// What a kernel of attention keeps to itself, found in a graph that writes attention out in products.
#pragma once

#include <set>

#include "ir/graph.h"

namespace podium::sim {

/// Scores, each row's with all positions, and all that has their shape or is turned, whatever heads are
/// counted in; nothing in a graph that makes no scores.
std::set<ir::ValueId> scores_of(const ir::Graph& graph);

/// The bytes of an element of a value as it is stored: kernels widen and turn what they read on the way.
double stored_width(const ir::Graph& graph, const ir::IdMap<ir::ValueId, ir::OpId>& makers, ir::ValueId id);

}  // namespace podium::sim
