// Placement by cost for `podium annotate --auto`.
#pragma once

#include <vector>

#include "executor/cli/annotate_options.h"
#include "executor/device/device.h"
#include "importer/import.h"

namespace podium::cli {

/// The graph with types and without the ops that are known before the run.
struct SizedGraph {
  ir::Graph graph;
  std::vector<std::size_t> imported;  ///< of each op, its place in the graph as it was imported
};

SizedGraph infer_sizes(const ir::Graph& graph);

/// Annotates every op by what it costs on `device`, in place of what it said of processors, stages and
/// phases. Ops of one node stay together. Error for a model that cannot be cut into so many parts, and one
/// whose sizes nobody knows.
void place_automatically(importer::Model& model, const AnnotateOptions& options,
                         const device::Device& device);

}  // namespace podium::cli
