// A graph given as text, cut over devices and run: as one graph in which each device has ops of its own.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "annotate/partition.h"
#include "ir/infer.h"
#include "tests/support/graph_text.h"
#include "tests/support/run_text.h"

namespace podium::testing {

/// What the node that makes `node` says of one of its operands.
struct Said {
  std::string node;
  std::string operand;
  ir::ShardingSpec spec;
};

/// "0=2": axis 0 over devices 0 and 1. "0=2,1=2" nests them.
inline ir::ShardingSpec over(std::vector<ir::ShardedAxis> axes) {
  std::int64_t shards = 1;
  for (const ir::ShardedAxis& axis : axes) {
    for (const ir::ShardedFactor& factor : axis.factors) shards *= factor.shards;
  }
  ir::ShardingSpec spec{.holders = {}, .axes = std::move(axes)};
  for (std::int64_t device = 0; device < shards; ++device) spec.holders.push_back({device});
  return spec;
}
inline ir::ShardedAxis axis(std::int64_t at, std::int64_t shards) { return {at, {{.shards = shards}}}; }

/// A training without updates of the graph, with a plan of what its nodes say.
struct CutGraph {
  ir::Training whole;
  annotate::ShardingPlan plan;

  annotate::Partitioned cut() const { return annotate::partition(whole, plan); }
};

inline CutGraph cut_graph(ir::Graph graph, int devices, const std::vector<Said>& said) {
  CutGraph cut{.whole = {.graph = std::move(graph)}, .plan = {.devices = devices}};
  ir::Graph& whole = cut.whole.graph;
  using Side = annotate::Side;
  for (ir::Op& op : whole.ops) {
    std::vector<annotate::OperandSharding> operands;
    for (const Said& one : said) {
      if (whole[op.outputs[0]].name != one.node) continue;
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i].valid() && whole[op.inputs[i]].name == one.operand)
          operands.push_back({Side::Input, i, one.spec});
      }
      for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        if (op.outputs[i].valid() && whole[op.outputs[i]].name == one.operand)
          operands.push_back({Side::Output, i, one.spec});
      }
    }
    if (operands.empty()) continue;
    ir::set_attribute(op, annotate::kShardingPlace, std::ssize(cut.plan.ops));
    cut.plan.ops.push_back(std::move(operands));
  }
  return cut;
}

}  // namespace podium::testing
