#include "executor/lower/graph/give_outputs_an_op.h"

namespace podium::lower {

void give_outputs_an_op(PlacedGraph& placed) {
  ir::Graph& graph = placed.graph();
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  const ir::OpPlacement first =
      placed.placement.ops.empty() ? ir::OpPlacement{} : placed.placement.ops.front();
  for (ir::ValueId& output : graph.outputs) {
    if (producer[output].valid()) continue;
    const std::span<const ir::OpId> beside = readers[output];
    const ir::OpPlacement place =
        in_context(beside.empty() ? first : placed[beside.front()], ir::Context::MicroBatch);
    output = placed.append_copy(output, graph[output].name, place);
    graph.ops.back().name = graph[output].name;
  }
}

}  // namespace podium::lower
