// Cuts a placed graph into the parts that become blocks.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/graph.h"

namespace podium::lower {

/// Ops of the whole graph that run together, as a graph of their own.
struct Part {
  int group = 0;    ///< what the caller cut by: a processor, stage or phase
  ir::Graph graph;  ///< its inputs are `reads`, its outputs `writes`, under the names of the whole graph
  std::vector<ir::ValueId> reads;    ///< values of the whole graph, host inputs included
  std::vector<ir::ValueId> writes;   ///< that other parts or the host read
  std::vector<ir::ValueId> weights;  ///< constants of the whole graph that the part's graph holds
};

/// Parts in an order in which they can run, each as large as that order allows: in a topological order that
/// stays in a group as long as it can, and then goes to the lowest group that is ready.
/// `group` gives each op's, by its place in graph.ops. With `whole_groups`, ops of one group are one part,
/// which needs an order of groups without a way back (InternalError otherwise); parts come by group.
/// Constants for which `streamed` holds become reads. A value of `graph` without data (data_left_out) counts
/// as a constant. An output of the graph that is one of its inputs or constants comes through a part of its
/// own ops only if one reads it: `graph.outputs` are produced by ops (see copy_outputs).
std::vector<Part> make_parts(const ir::Graph& graph, const std::vector<int>& group, bool whole_groups,
                             const std::function<bool(ir::ValueId)>& streamed = {});

}  // namespace podium::lower
