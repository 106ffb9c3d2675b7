// Annotations become a Placement.
#pragma once

#include "annotate/check.h"
#include "ir/placement.h"

namespace podium::annotate {

/// Places `graph` as it will be lowered; `check` has passed on the graph as it was imported. Ops without
/// annotation take the place of the producer with the highest stage or phase, else of the consumer with the
/// lowest, else of the first stage or phase (semantics, section 1.3).
/// - Mode Off puts everything on processor 0. Mode Auto reads processors as Manual does, once the session has
///   written them to the ops (write_parts), and no stages.
/// - With pipelining and no op that has a stage, the stage is the processor. Stages that passes have emptied
///   are closed up: the others are numbered 0, 1, 2, ...
/// - In mode ExecutionPhases an op without virtual graph is on processor phase % phase_stages; when no op has
///   a phase, each phase gets the same share of the weights' bytes in the order of the ops.
/// Error for a stage or phase that decreases along an edge.
ir::Placement place(const ir::Graph& graph, const Metadata& metadata, const Request& request);

}  // namespace podium::annotate
