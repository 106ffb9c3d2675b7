#include "annotate/rounded_weights.h"

#include <algorithm>
#include <vector>

namespace podium::annotate {

void say_of_rounded_weights(ir::Training& training, ShardingPlan& plan) {
  ir::Graph& graph = training.graph;
  ir::IdMap<ir::ValueId, bool> is_weight(std::ssize(graph.values), false);
  for (const ir::Variable& variable : training.variables)
    is_weight[variable.value] = variable.kind == ir::VariableKind::Weight;
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
      if (!maker.is("RoundToBlocks", "podium") || !is_weight[maker.inputs[0]]) continue;
      if (ir::find_attribute(maker, kShardingPlace) != nullptr) continue;
      ir::set_attribute(maker, kShardingPlace, std::ssize(plan.ops));
      plan.ops.push_back({{Side::Input, 0, of.spec}, {Side::Output, 0, of.spec}});
    }
  }
}

}  // namespace podium::annotate
