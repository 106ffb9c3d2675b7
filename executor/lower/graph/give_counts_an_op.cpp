#include "executor/lower/graph/give_counts_an_op.h"

namespace podium::lower {

void give_counts_an_op(PlacedGraph& placed) {
  ir::Graph& graph = placed.graph();
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  for (const ir::Update& update : placed.training.updates) {
    ir::ValueId& output = graph.outputs[update.output];
    if (update.outer || readers[output].empty() || !producer[output].valid()) continue;
    const ir::OpPlacement place =
        in_context(placed.place_of(producer[output], output), ir::Context::MicroBatch);
    output = placed.append_copy(output, graph.fresh_name(graph[output].name), place);
  }
}

}  // namespace podium::lower
