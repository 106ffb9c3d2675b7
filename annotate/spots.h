// Processor, stage and phase of every op: those that annotations give, and how other ops inherit them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotate/annotations.h"
#include "annotate/request.h"

namespace podium::annotate {

struct Spot {
  int processor = 0;
  int stage = 0;
  int phase = 0;
};

using AllAnnotations = ir::IdMap<ir::OpId, Annotations>;
using AllSpots = ir::IdMap<ir::OpId, Spot>;

/// The annotations of every op. Error names the node.
AllAnnotations read_all(const ir::Graph& graph);

struct Spots {
  AllSpots of_ops;
  std::vector<ir::OpId> untold;  ///< ops that nothing places: they are where the first stage or phase is
};

/// The spots that annotations give in the session's mode; inheritance fills the rest.
Spots find_spots(const ir::Graph& graph, const AllAnnotations& annotations, const Request& request);

/// True where the stages follow the processors: mode and pipelining ask for it and no op has a stage.
bool infers_stages(const AllAnnotations& annotations, const Request& request);
/// True in mode ExecutionPhases with more than one phase.
inline bool has_phases(const Request& request) {
  return request.mode == Mode::ExecutionPhases && request.phases > 1;
}

/// For each op, whether it runs once for all micro-batches of an update.
ir::IdMap<ir::OpId, bool> outer_ops(const ir::Graph& graph);

/// Error for the first edge along which the stage or phase decreases. Edges from and to ops for which `skip`
/// holds are not checked; an empty one holds for none.
void check_order(const ir::Graph& graph, const AllSpots& spots, const ir::IdMap<ir::OpId, bool>& skip = {});

/// "node 'a' (Conv), node 'b' (Relu), node 'c' (Relu) and 4 more"
std::string list(const ir::Graph& graph, const std::vector<ir::OpId>& ops);

}  // namespace podium::annotate
