#include "executor/numeric/fuse_softmax_gradient.h"

#include <optional>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::OpId;
using ir::ValueId;

// `id` is a sum along the last axis, which stays, of flow * y, and read once as this product is.
bool is_sum_of_product(const Rewriter& rewriter, ValueId id, ValueId flow, ValueId y) {
  const auto sum = rewriter.producer(id, "ReduceSum");
  if (!sum || !rewriter.only_reader(id).valid()) return false;
  const ir::Op& op = rewriter.op(*sum);
  const auto mul = rewriter.producer(op.inputs[0], "Mul");
  if (!mul || !rewriter.only_reader(op.inputs[0]).valid()) return false;
  const std::vector<ValueId>& factors = rewriter.op(*mul).inputs;
  return axes_of(rewriter, op) == Dims{rewriter.type(y).rank() - 1} &&
         (factors == std::vector<ValueId>{flow, y} || factors == std::vector<ValueId>{y, flow});
}

// dX = y * (flow - sum(flow * y)): what flows into y, where these are the factors.
std::optional<ValueId> flow_into(const Rewriter& rewriter, ValueId y, ValueId factor) {
  const auto sub = rewriter.producer(factor, "Sub");
  if (!sub || !rewriter.only_reader(factor).valid()) return std::nullopt;
  const ValueId flow = rewriter.op(*sub).inputs[0];
  if (!(rewriter.type(flow) == rewriter.type(y))) return std::nullopt;
  return is_sum_of_product(rewriter, rewriter.op(*sub).inputs[1], flow, y) ? std::optional(flow)
                                                                           : std::nullopt;
}

void fuse_softmax_at(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  if (!op.is("Mul") || !is_static_float(rewriter.graph(), op)) return;
  for (std::size_t i = 0; i < 2; ++i) {
    const ValueId y = op.inputs[i];
    const auto flow = flow_into(rewriter, y, op.inputs[1 - i]);
    if (!flow || !(rewriter.type(op.outputs[0]) == rewriter.type(y))) continue;
    ir::Op fused = make_op("SoftmaxGradient", "podium", {y, *flow}, {op.outputs[0]});
    fused.name = op.name;
    return rewriter.replace(id, std::move(fused));
  }
}

}  // namespace

bool fuse_softmax_gradient(ir::Graph& graph) { return rewrite_ops(graph, fuse_softmax_at); }

}  // namespace podium::numeric
