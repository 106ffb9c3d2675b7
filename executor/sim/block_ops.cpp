#include "executor/sim/block_ops.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "ir/work.h"

namespace podium::sim {
namespace {

std::string type_of_kernel(const ir::Graph& graph, const KernelTime& kernel) {
  constexpr std::size_t kMostShown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostShown, kernel.ops.size()); ++i)
    text += fmt::format("{}{}", text.empty() ? "" : "+", graph.ops[kernel.ops[i]].spec->name);
  return text + (kernel.ops.size() > kMostShown ? fmt::format("+{}", kernel.ops.size() - kMostShown) : "");
}

// Bytes of what comes from outside the kernel and of what it makes.
double bytes_of_kernel(const ir::Graph& graph, const KernelTime& kernel) {
  if (kernel.ops.size() == 1) {
    const ir::Work work = ir::work_of(ir::TypedOp(graph, graph.ops[kernel.ops.front()]));
    if (work.bytes > 0) return work.bytes;
  }
  std::set<ir::ValueId> made;
  std::set<ir::ValueId> seen;
  double bytes = 0;
  for (const std::int32_t op : kernel.ops) {
    for (ir::ValueId id : inputs_of(graph.ops[op])) {
      if (!made.contains(id) && seen.insert(id).second)
        bytes += static_cast<double>(ir::packed_bytes(graph[id].type));
    }
    for (ir::ValueId id : outputs_of(graph.ops[op])) made.insert(id);
  }
  const ir::Op& last = graph.ops[kernel.ops.back()];
  for (ir::ValueId id : outputs_of(last)) bytes += static_cast<double>(ir::packed_bytes(graph[id].type));
  return bytes;
}

std::vector<std::string> names_made(const ir::Graph& graph, const KernelTime& kernel) {
  std::vector<std::string> names;
  for (const std::int32_t op : kernel.ops) {
    for (ir::ValueId id : outputs_of(graph.ops[op])) names.push_back(graph[id].name);
  }
  return names;
}

}  // namespace

std::string name_of_kernel(const ir::Graph& graph, const KernelTime& kernel) {
  const ir::Op& op = graph.ops[kernel.ops.front()];
  if (!op.name.empty()) return op.name;
  const auto made = outputs_of(op);
  return made.begin() == made.end() ? std::string(op.spec->name) : graph[*made.begin()].name;
}

std::vector<BlockReport> block_reports(const executor::Program& program, const Costs& costs) {
  std::vector<BlockReport> reports;
  for (executor::BlockId id : program.block_ids()) {
    const executor::Block& block = program[id];
    const BlockCost& cost = costs.blocks[id];
    BlockReport& report = reports.emplace_back(
        BlockReport{.name = block.name, .processor = block.processor, .seconds = cost.seconds});
    for (const KernelTime& kernel : cost.kernels) {
      report.ops.push_back({.name = name_of_kernel(block.graph, kernel),
                            .type = type_of_kernel(block.graph, kernel),
                            .seconds = kernel.seconds,
                            .flop = kernel.flop,
                            .bytes = bytes_of_kernel(block.graph, kernel),
                            .ideal_seconds = kernel.ideal_seconds,
                            .makes = names_made(block.graph, kernel)});
    }
  }
  return reports;
}

}  // namespace podium::sim
