#include "ir/passes/optimize.h"

#include "ir/infer.h"
#include "ir/passes/merge_equal.h"
#include "ir/passes/simplify.h"
#include "ir/passes/whole_products.h"
#include "ir/remove_dead.h"

namespace podium::ir {

bool optimize(Graph& graph, const InferOptions& options) {
  const std::size_t before = graph.ops.size();
  // Ops that no output needs are not worth inferring, and may not even be correct.
  remove_dead(graph);
  // Before the weights of quantised products are folded into floats.
  multiply_whole_numbers(graph);
  infer(graph, options);
  // Each pass that changes something leaves less, so this ends.
  bool changed = true;
  while (changed) {
    changed =
        remove_dead(graph);  // first, so that outputs nobody reads do not keep an op from being simplified
    changed |= simplify(graph);
    changed |= merge_equal(graph);
  }
  return graph.ops.size() != before;
}

}  // namespace podium::ir
