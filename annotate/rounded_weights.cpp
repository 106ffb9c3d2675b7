#include "annotate/rounded_weights.h"

#include <set>
#include <vector>

#include "ir/ops/block_rounding.h"

namespace podium::annotate {

void say_of_rounded_weights(ir::Training& training, ShardingPlan& plan) {
  ir::Graph& graph = training.graph;
  const std::set<ir::ValueId> weights = weights_of(training);
  const ir::IdMap<ir::ValueId, ir::OpId> makers = ir::producers(graph);
  for (ir::OpId id : graph.op_ids()) {
    const auto* place = ir::attribute_if<std::int64_t>(graph[id], kShardingPlace);
    if (place == nullptr) continue;
    const std::vector<OperandSharding> said = plan.ops[*place];
    for (const OperandSharding& of : said) {
      if (of.side != Side::Input || of.place >= graph[id].inputs.size()) continue;
      const ir::ValueId operand = graph[id].inputs[of.place];
      if (!operand.valid() || !makers[operand].valid()) continue;
      ir::Op& maker = graph[makers[operand]];
      if (!rounds_to_blocks(maker) || !weights.contains(maker.inputs[0])) continue;
      if (ir::find_attribute(maker, kShardingPlace) != nullptr) continue;
      ir::set_attribute(maker, kShardingPlace, std::ssize(plan.ops));
      plan.ops.push_back({{Side::Input, 0, of.spec}, {Side::Output, 0, of.spec}});
    }
  }
}

}  // namespace podium::annotate
