#include "executor/lower/graph/give_updates_an_op.h"

namespace podium::lower {

void give_updates_an_op(PlacedGraph& placed) {
  ir::Graph& graph = placed.graph();
  const auto producer = producers(graph);
  const auto readers = consumers(graph);
  for (const ir::Update& update : placed.training.updates) {
    ir::ValueId& output = graph.outputs[update.output];
    if (producer[output].valid()) continue;
    const std::span<const ir::OpId> beside = readers[update.variable];
    IR_CHECK(!beside.empty(), "variable {} is updated and never read", graph[update.variable].name);
    output = placed.append_copy(output, graph.fresh_name(graph[output].name),
                                in_context(placed[beside.front()], ir::Context::Update));
  }
}

}  // namespace podium::lower
