// A product with known weights becomes one of the engine's ops, whose weights are packed once. Weights of few
// bits stay as they are: behind a DequantizeLinear that was not folded, or in front of one that was, whose
// result still tells what made it (ir/late_tensor.h). What a transposition was folded to is packed from what
// it was before.
#include "executor/numeric/fuse_matmul.h"

#include <optional>

#include "executor/numeric/narrow_weights.h"
#include "executor/numeric/rewriter.h"

namespace podium::numeric {

using ir::Op;
using ir::OpId;
using ir::Tensor;
using ir::ValueId;

namespace {

// A constant with the numbers of `id` times a factor.
ValueId scaled(ir::Graph& graph, ValueId id, float factor) {
  if (factor == 1.0F) return id;
  Tensor result = graph[id].constant->clone();
  for (float& value : result.values<float>()) value *= factor;
  return graph.add_constant(graph.fresh_name(graph[id].name), std::move(result));
}

bool is_weight(const Rewriter& rewriter, ValueId id) {
  const Tensor* tensor = rewriter.constant(id);
  return tensor != nullptr && tensor->rank() == 2;
}

void convert_matmul(Rewriter& rewriter, OpId id) {
  const Op op = rewriter.op(id);
  if (!is_weight(rewriter, op.inputs[1]) || rewriter.type(op.inputs[0]).rank() < 2) return;
  Op fused = make_op("MatMul", "podium", op.inputs, op.outputs);
  fused.name = op.name;
  if (const auto turned = transposed_from(*rewriter.constant(op.inputs[1]))) {
    ir::Graph& graph = rewriter.graph();
    fused.inputs[1] = graph.add_constant(graph.fresh_name("transposed"), *turned);
    ir::set_attribute(fused, "transB", std::int64_t{1});
  }
  rewriter.replace(id, std::move(fused));
}

void convert_gemm(Rewriter& rewriter, OpId id) {
  const Op op = rewriter.op(id);
  if (!is_weight(rewriter, op.inputs[1]) || ir::attribute<std::int64_t>(op, "transA") != 0) return;
  const std::int64_t columns = rewriter.type(op.outputs[0]).dims[1];
  const bool has_addend = op.inputs.size() > 2 && op.inputs[2].valid();
  if (has_addend && !is_vector(rewriter, op.inputs[2], columns)) return;
  ir::Graph& graph = rewriter.graph();
  std::vector<ValueId> inputs{op.inputs[0], scaled(graph, op.inputs[1], ir::attribute<float>(op, "alpha"))};
  if (has_addend) inputs.push_back(scaled(graph, op.inputs[2], ir::attribute<float>(op, "beta")));
  Op fused = make_op("MatMul", "podium", std::move(inputs), op.outputs,
                     {{"transB", ir::attribute<std::int64_t>(op, "transB")}});
  fused.name = op.name;
  rewriter.replace(id, std::move(fused));
}

// Weights that a DequantizeLinear makes stay as narrow as they are.
void convert_dequantized(Rewriter& rewriter, OpId id) {
  auto fused = narrow_product(rewriter, rewriter.op(id));
  if (!fused) return;
  fused->outputs = rewriter.op(id).outputs;
  rewriter.replace(id, std::move(*fused));
}

// Exporters flatten rows before a Gemm and unflatten its result: rows are flat in memory anyway.
void drop_reshapes(Rewriter& rewriter, OpId id) {
  const Op product = rewriter.op(id);
  const auto before = rewriter.producer(product.inputs[0], "Reshape");
  const auto after = rewriter.only_reader(product.outputs[0], "Reshape");
  if (!before || !after) return;
  const ValueId x = rewriter.op(*before).inputs[0];
  const ValueId y = rewriter.op(*after).outputs[0];
  ir::Dims wanted = rewriter.type(x).dims;
  if (wanted.size() < 2 || wanted.back() != rewriter.type(product.inputs[0]).dims.back()) return;
  wanted.back() = rewriter.type(product.outputs[0]).dims.back();
  if (rewriter.type(y).dims != wanted) return;
  Op whole = product;
  whole.inputs[0] = x;
  whole.outputs = {y};
  rewriter.erase(id);
  rewriter.replace(*after, std::move(whole));
}

}  // namespace

bool fuse_matmul(ir::Graph& graph) {
  Rewriter rewriter(graph);
  for (OpId id : rewriter.op_ids()) {
    const Op& op = rewriter.op(id);
    if (!is_static_float(graph, op)) continue;
    if (op.is("MatMul") || op.is("Gemm")) convert_dequantized(rewriter, id);
    if (op.is("MatMul")) {
      convert_matmul(rewriter, id);
    } else if (op.is("Gemm")) {
      convert_gemm(rewriter, id);
    }
    if (rewriter.op(id).is("MatMul", "podium")) drop_reshapes(rewriter, id);
  }
  return rewriter.finish();
}

}  // namespace podium::numeric
