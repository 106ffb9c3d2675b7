// Processor, stage and phase of every op: those that annotations tell, and how the others inherit them.
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

/// Of every op, in order. Error names the node.
std::vector<Annotations> read_all(const ir::Graph& graph);

struct Spots {
  std::vector<Spot> of_ops;
  std::vector<std::size_t>
      untold;  ///< ops that nothing tells of and that are where the first stage or phase is
};

/// What the session's mode reads of the annotations, the rest filled by inheritance.
Spots find_spots(const ir::Graph& graph, const std::vector<Annotations>& annotations, const Request& request);

/// True where mode and pipelining make stages follow processors, since no op says its own.
bool infers_stages(const std::vector<Annotations>& annotations, const Request& request);
/// True in mode ExecutionPhases with more than one phase.
inline bool has_phases(const Request& request) {
  return request.mode == Mode::ExecutionPhases && request.phases > 1;
}

/// Which ops run once for all micro-batches of an update.
std::vector<bool> outer_ops(const ir::Graph& graph);

/// Error for the first edge along which the stage or phase decreases, but for those from and to ops for which
/// `skip` holds.
void check_order(const ir::Graph& graph, const std::vector<Spot>& spots, const std::vector<bool>& skip = {});

/// "node 'a' (Conv), node 'b' (Relu), node 'c' (Relu) and 4 more"
std::string list(const ir::Graph& graph, const std::vector<std::size_t>& ops);

}  // namespace podium::annotate
