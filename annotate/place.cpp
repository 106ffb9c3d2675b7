#include "annotate/place.h"

#include <algorithm>
#include <vector>

#include "annotate/spots.h"
#include "ir/ops/group_exchange.h"

namespace podium::annotate {
namespace {

// Numbers stages 0, 1, 2, ... in their order; gives how many there are.
int close_up_stages(AllSpots& spots) {
  std::vector<int> stages;
  for (const Spot& spot : spots) stages.push_back(spot.stage);
  std::sort(stages.begin(), stages.end());
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  for (Spot& spot : spots) {
    spot.stage = std::lower_bound(stages.begin(), stages.end(), spot.stage) - stages.begin();
  }
  return std::max<int>(stages.size(), 1);
}

// A processor may have no op but its part in what a group exchanges.
int processors_of(const ir::Graph& graph, const AllSpots& spots, const Request& request) {
  int highest = has_phases(request) ? request.phase_stages - 1 : 0;
  for (ir::OpId id : graph.op_ids()) {
    highest = std::max(highest, spots[id].processor);
    for (std::int64_t member : ir::group_processors(graph[id]))
      highest = std::max(highest, static_cast<int>(member));
  }
  return std::max(highest + 1, request.processors);
}

}  // namespace

ir::Placement place(const ir::Graph& graph, const Metadata& metadata, const Request& request) {
  const AllAnnotations annotations = read_all(graph);
  AllSpots spots = find_spots(graph, annotations, request).of_ops;
  const bool moves_updates = request.accumulates || has_phases(request);
  check_order(graph, spots, moves_updates ? outer_ops(graph) : ir::IdMap<ir::OpId, bool>{});
  ir::Placement placement;
  placement.processors = processors_of(graph, spots, request);
  placement.stages = close_up_stages(spots);
  placement.phases = has_phases(request) ? request.phases : 1;
  placement.ops.reserve(spots.size());
  for (ir::OpId op : graph.op_ids()) {
    const Annotations& told = annotations[op];
    placement.ops.push_back({.processor = spots[op].processor,
                             .stage = spots[op].stage,
                             .phase = spots[op].phase,
                             .tiles = told.tiles.value_or(ir::TileSet::Compute),
                             .recompute = told.recompute.value_or(ir::Recompute::Undefined),
                             .priority = told.priority.value_or(0.0F),
                             .output_location = told.output_location});
  }
  TensorSettings settings = read_metadata(metadata);
  placement.inputs = std::move(settings.inputs);
  placement.variable_groups = std::move(settings.variable_groups);
  return placement;
}

}  // namespace podium::annotate
