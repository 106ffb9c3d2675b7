#include "executor/sim/block_cost.h"

#include <cmath>

#include "executor/sim/op_cost.h"
#include "ir/error.h"

namespace podium::sim {
namespace {

std::int64_t count_ops(const ir::Graph& graph) {
  auto count = std::ssize(graph.ops);
  for (const ir::Op& op : graph.ops) {
    for_each_body(op, [&](std::string_view, const ir::Graph& body) { count += count_ops(body); });
  }
  return count;
}

}  // namespace

BlockCost block_cost(const executor::Block& block, const device::Device& device, int tiles) {
  BlockCost cost;
  for (const ir::Op& op : block.graph.ops) {
    try {
      const OpCost one = op_cost(ir::TypedOp(block.graph, op), device, tiles);
      cost.seconds += one.seconds;
      cost.flop += one.flop;
      cost.matrix_flop += one.matrix_flop;
    } catch (const Error& error) {
      throw error.at(block.graph.describe(op));
    }
  }
  cost.ops = count_ops(block.graph);
  cost.code_bytes = std::llround(static_cast<double>(cost.ops) * device.code_bytes_per_op);
  return cost;
}

double op_seconds(const ir::Graph& graph, const ir::Op& op, const device::Device& device, int tiles) {
  try {
    return op_cost(ir::TypedOp(graph, op), device, tiles).seconds;
  } catch (const Error&) {
    double seconds = 0;
    for_each_body(op, [&](std::string_view, const ir::Graph& body) {
      for (const ir::Op& inner : body.ops) seconds += op_seconds(body, inner, device, tiles);
    });
    return seconds;
  }
}

double seconds_per_byte(const device::Device& device) {
  double seconds = 0;
  for (const device::Link& link : {device.rung, device.rail}) {
    if (link.bytes_per_second > 0) seconds = std::max(seconds, 1 / link.bytes_per_second);
  }
  return seconds;
}

}  // namespace podium::sim
