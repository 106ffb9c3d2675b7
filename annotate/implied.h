// The request that a model's annotations imply.
#pragma once

#include "annotate/request.h"
#include "ir/graph.h"

namespace podium::annotate {

/// The request under which every annotation of the graph has a meaning: phases when an op has one, else
/// pipelining when an op has a stage, else virtual graphs when an op has one, else nothing. Error as
/// read_annotations.
Request implied_request(const ir::Graph& graph);

}  // namespace podium::annotate
