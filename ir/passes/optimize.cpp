#include "ir/passes/optimize.h"

#include <array>

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
  // Before each layer's mask of positions is a constant of its own, too large to be compared.
  merge_equal(graph);
  infer(graph, options);
  // Dead ops go first, so that outputs nobody reads do not keep an op from being simplified. Each pass that
  // changes something leaves less, so this ends: when one after the other has found nothing.
  constexpr std::array kPasses{remove_dead, simplify, merge_equal};
  std::size_t found_nothing = 0;
  for (std::size_t i = 0; found_nothing < kPasses.size(); ++i)
    found_nothing = kPasses[i % kPasses.size()](graph) ? 0 : found_nothing + 1;
  return graph.ops.size() != before;
}

}  // namespace podium::ir
