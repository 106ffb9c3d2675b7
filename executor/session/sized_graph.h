// A model's graph with the sizes that follow from it.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace podium {

/// The graph with types and without the ops that are known before the run. Values keep their ids.
struct SizedGraph {
  ir::Graph graph;
  std::vector<std::size_t> imported;  ///< of each op, its place in the graph as it was imported
};

/// Error where types contradict each other.
SizedGraph infer_sizes(const ir::Graph& graph);

}  // namespace podium
