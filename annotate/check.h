// Says before anything is optimized whether the annotations of a model can be what the session asks for.
#pragma once

#include "annotate/metadata.h"
#include "annotate/request.h"

namespace podium::annotate {

/// `graph` as it was imported. Ops that need no annotation: those that no output depends on, those that
/// handle only constants and shapes (they are folded away or inherit), and Identity. Error for each row of
/// section 1.4 that concerns placement; also for a stage or phase that decreases along an edge, which PopART
/// let pass. Mode Off says nothing of virtual graphs and phases, no pipelining nothing of stages, and mode
/// Auto replaces both processors and stages, so those annotations are not looked at.
void check(const ir::Graph& graph, const Metadata& metadata, const Request& request);

}  // namespace podium::annotate
