#include "executor/lower/lower.h"

#include "executor/lower/plan_memory.h"
#include "executor/lower/strategies.h"

namespace podium::lower {
namespace {

// An output that is an input or a constant gets an op that makes it.
void give_outputs_an_op(ir::Graph& graph, ir::Placement& placement) {
  const std::vector<ir::OpId> producer = producers(graph);
  for (ir::ValueId& output : graph.outputs) {
    if (producer[static_cast<std::size_t>(output.index)].valid()) continue;
    const ir::Value source = graph[output];
    const ir::ValueId copy = graph.add_value(source.name, source.type);
    graph.ops.push_back({.spec = ir::find_op("", "Identity"), .name = source.name, .inputs = {output}, .outputs = {copy}});
    placement.ops.push_back(placement.ops.empty() ? ir::OpPlacement{} : placement.ops.back());
    output = copy;
  }
}

}  // namespace

executor::Program lower(ir::Graph graph, const ir::Placement& given, const Options& options) {
  ir::Placement placement = given;
  give_outputs_an_op(graph, placement);
  executor::Program program = sharded(graph, placement, options);
  plan_memory(program);
  verify(program);
  return program;
}

executor::Program on_one_processor(ir::Graph graph) {
  const ir::Placement placement{.ops = std::vector<ir::OpPlacement>(graph.ops.size())};
  return lower(std::move(graph), placement, {});
}

}  // namespace podium::lower
