// Adds to the lists of a Program, and what all need that cut its blocks.
#pragma once

#include <map>
#include <utility>

#include "executor/program.h"
#include "ir/builder.h"

namespace podium::lower {

inline executor::BufferId append(executor::Program& program, executor::Buffer buffer) {
  program.buffers.push_back(std::move(buffer));
  return {static_cast<std::int32_t>(program.buffers.size() - 1)};
}

inline executor::BlockId append(executor::Program& program, executor::Block block) {
  program.blocks.push_back(std::move(block));
  return {static_cast<std::int32_t>(program.blocks.size() - 1)};
}

/// A block that hands a value on as it is.
inline executor::Block keeping_block(const ir::Value& value, int processor) {
  executor::Block block{.name = "keep " + value.name, .processor = processor, .graph = {}};
  ir::Builder builder(block.graph);
  builder.output(builder.op("Identity", {builder.input(value.name, value.type)}));
  return block;
}

/// The buffers of the constants of `graph`, which is that of a block with these weights: it lists them in the
/// order of their values.
inline std::map<ir::ValueId, executor::BufferId> weights_by_value(
    const ir::Graph& graph, const std::vector<executor::BufferId>& weights, std::string_view block) {
  std::map<ir::ValueId, executor::BufferId> found;
  for (ir::ValueId id : graph.value_ids()) {
    if (!graph[id].constant && !graph[id].data_left_out) continue;
    IR_CHECK(found.size() < weights.size(), "block {} has constants that are no weights", block);
    found.emplace(id, weights[found.size()]);
  }
  return found;
}

}  // namespace podium::lower
