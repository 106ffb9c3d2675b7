// The types of values that only data decide, seen in a run.
#pragma once

#include <span>

#include "ir/datum.h"
#include "ir/graph.h"

namespace podium::numeric {

/// The types of the graph's values, of which those that are not static are looked up in one run of the graph
/// as it is. Values inside bodies are not looked at. `inputs` in the order of graph.inputs. Error names the
/// node that failed.
ir::IdMap<ir::ValueId, ir::Type> observe_types(ir::Graph graph, std::span<const ir::Datum> inputs);

}  // namespace podium::numeric
