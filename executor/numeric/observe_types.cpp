#include "executor/numeric/observe_types.h"

#include "executor/numeric/prepared_block.h"

namespace podium::numeric {

ir::IdMap<ir::ValueId, ir::Type> observe_types(ir::Graph graph, std::span<const ir::Datum> inputs) {
  ir::IdMap<ir::ValueId, ir::Type> types;
  for (const ir::Value& value : graph.values) types.push_back(value.type);
  IR_CHECK(inputs.size() == graph.inputs.size());
  std::vector<const ir::Datum*> pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    types[graph.inputs[i]] = type_of(inputs[i]);
    pointers.push_back(&inputs[i]);
  }
  // Every value of unknown size becomes an output, so that it is still there when the run has ended.
  graph.outputs.clear();
  for (const ir::Op& op : graph.ops) {
    for (ir::ValueId id : outputs_of(op)) {
      if (!graph[id].type.is_static()) graph.outputs.push_back(id);
    }
  }
  const std::vector<ir::ValueId> wanted = graph.outputs;
  PreparedBlock block(std::move(graph), {.fuse = false});
  const auto found = block.run(pointers);
  for (std::size_t i = 0; i < wanted.size(); ++i) types[wanted[i]] = type_of(*found[i]);
  return types;
}

}  // namespace podium::numeric
