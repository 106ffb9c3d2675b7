// Optimizers whose steps jump.
#pragma once

#include <algorithm>

#include "ir/passes/make_training.h"
#include "tests/support/graph_text.h"

namespace podium::testing {

/// Whether a step jumps where a number passes zero, as a sign does: sums that are made in another order may
/// then give another step.
inline bool jumps(const ir::Optimizer& optimizer) {
  ir::Graph graph = graph_of(
      "g (float[3] x) => (float loss) <float[3] w = {1, 2, 3}> {\n"
      "  p = Mul (w, x)\n  loss = ReduceSum <keepdims = 0> (p)\n}");
  const std::vector<ir::Variable> weights = ir::take_weights(graph);
  const ir::Training training =
      ir::make_training(std::move(graph), {.loss = "loss", .weights = weights, .optimizer = optimizer});
  const std::vector<ir::Op>& ops = training.graph.ops;
  return std::any_of(ops.begin(), ops.end(), [](const ir::Op& op) { return op.is("Sign"); });
}

}  // namespace podium::testing
