#include "executor/lower/single.h"

namespace podium::lower {

using executor::Slot;

executor::Program single_processor(ir::Graph graph) {
  executor::Program program;
  executor::Compute compute{.block = {0}, .reads = {}, .writes = {}};
  const auto add_buffer = [&](const ir::Value& value) {
    program.buffers.push_back({.name = value.name, .type = value.type});
    return Slot{{static_cast<std::int32_t>(program.buffers.size() - 1)}};
  };
  for (ir::ValueId id : graph.inputs) {
    compute.reads.push_back(add_buffer(graph[id]));
    program.steps.emplace_back(
        executor::LoadFromHost{static_cast<int>(program.inputs.size()), compute.reads.back()});
    program.inputs.push_back({graph[id].name, graph[id].type});
  }
  for (ir::ValueId id : graph.outputs) {
    compute.writes.push_back(add_buffer(graph[id]));
    program.outputs.push_back({graph[id].name, graph[id].type});
  }
  const std::vector<Slot> written = compute.writes;
  program.steps.emplace_back(std::move(compute));
  for (std::size_t i = 0; i < written.size(); ++i) {
    program.steps.emplace_back(executor::StoreToHost{written[i], static_cast<int>(i)});
  }
  program.blocks.push_back({.name = "all", .processor = 0, .graph = std::move(graph)});
  return program;
}

}  // namespace podium::lower
