#include "executor/session/sized_graph.h"

#include "executor/kernels/tools/kernel.h"
#include "ir/infer.h"

namespace podium {

SizedGraph infer_sizes(const ir::Graph& graph) {
  SizedGraph sized{graph, {}};
  ir::infer(sized.graph, {.evaluate = kernels::evaluate});
  const auto producer = ir::producers(graph);
  for (const ir::Op& op : sized.graph.ops) {
    const auto made = outputs_of(op).begin();
    IR_CHECK(made != outputs_of(op).end());
    sized.imported.push_back(producer[*made].index);
  }
  return sized;
}

}  // namespace podium
