// A product with known weights becomes one of the engine's ops, whose weights are packed once. Weights of few
// bits stay as they are: behind a DequantizeLinear that was not folded, or in front of one that was, whose
// result still tells what made it (ir/late_tensor.h). What a transposition was folded to is packed from what
// it was before.
#include "executor/numeric/fuse_matmul.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "executor/numeric/rewriter.h"
#include "ir/late_tensor.h"

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

// A Transpose of a matrix that changes it.
bool swaps_axes(const Op& op) {
  if (!op.is("Transpose")) return false;
  const ir::AttributeValue* perm = ir::find_attribute(op, "perm");
  return perm == nullptr || std::get<ir::IntList>(*perm) == ir::IntList{1, 0};
}

// The matrix whose transposition was folded to these weights, whoever else may read them.
std::optional<Tensor> transposed_from(const Tensor& weights) {
  const ir::KnownOp* made = ir::made_by(weights);
  if (made == nullptr || made->inputs[0].rank() != 2 || !swaps_axes(made->op)) return std::nullopt;
  return made->inputs[0];
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

// A DequantizeLinear of known numbers, perhaps transposed.
struct Dequantizer {
  bool is_transposed = false;
  std::int64_t axis = 0;
  std::int64_t block_size = 0;
  Tensor weights;
  Tensor scale;
  std::optional<Tensor> zero_point;  // none: 0
};

// `known` gives an input, or nullptr where it is not known.
template <class Known>
std::optional<Dequantizer> dequantizer_from(const Op& op, const Known& known) {
  const bool has_zero_point = op.inputs.size() > 2 && op.inputs[2].valid();
  for (std::size_t i = 0; i < (has_zero_point ? 3 : 2); ++i) {
    if (known(i) == nullptr) return std::nullopt;
  }
  Dequantizer found{.axis = ir::attribute<std::int64_t>(op, "axis"),
                    .block_size = ir::attribute<std::int64_t>(op, "block_size"),
                    .weights = *known(0),
                    .scale = *known(1),
                    .zero_point = {}};
  if (has_zero_point) found.zero_point = *known(2);
  return found;
}

// Of one that was folded.
std::optional<Dequantizer> dequantizer_of(const Tensor& folded) {
  if (const auto turned = transposed_from(folded)) {
    auto found = dequantizer_of(*turned);
    if (found) found->is_transposed = !found->is_transposed;
    return found;
  }
  const ir::KnownOp* made = ir::made_by(folded);
  if (made == nullptr || !made->op.is("DequantizeLinear")) return std::nullopt;
  return dequantizer_from(made->op, [&](std::size_t i) { return &made->inputs[i]; });
}

// What makes the weights of a product, where all that it reads is known: an op that runs each time, or one
// that was folded.
std::optional<Dequantizer> dequantizer_of(const Rewriter& rewriter, const Op& product) {
  ValueId weights = product.inputs[1];
  const auto turned = rewriter.producer(weights, "Transpose");
  const bool is_transposed = turned && rewriter.type(weights).rank() == 2 && swaps_axes(rewriter.op(*turned));
  if (is_transposed) weights = rewriter.op(*turned).inputs[0];
  std::optional<Dequantizer> found;
  if (const auto maker = rewriter.producer(weights, "DequantizeLinear")) {
    const Op& op = rewriter.op(*maker);
    found = dequantizer_from(op, [&](std::size_t i) { return rewriter.constant(op.inputs[i]); });
  } else if (const Tensor* folded = rewriter.constant(weights)) {
    found = dequantizer_of(*folded);
  }
  if (found && is_transposed) found->is_transposed = !found->is_transposed;
  return found;
}

// Whether weights of so many bits can be multiplied as they are: scales may differ from column to column of
// the product, and from group to group of its summed axis.
bool can_stay_narrow(const Dequantizer& dequantizer, bool transposed) {
  constexpr ir::TypeSet kNarrow{ir::DataType::Int8, ir::DataType::Uint8, ir::DataType::Int4,
                                ir::DataType::Uint4, ir::DataType::Uint2};
  if (!kNarrow.contains(dequantizer.weights.type()) || dequantizer.weights.rank() != 2) return false;
  const Tensor& scale = dequantizer.scale;
  // A scale that makes a weight infinite may not be taken out of the sum.
  constexpr float kLargestNumber = 256;
  const bool has_good_scale =
      scale.type() == ir::DataType::Float && std::ranges::all_of(scale.values<float>(), [](float one) {
        return std::isfinite(one * kLargestNumber);
      });
  if (!has_good_scale) return false;
  if (scale.size() == 1) return true;
  const std::int64_t summed = transposed ? 1 : 0;
  return (ir::normalized_axis(dequantizer.axis, 2) == summed) == (dequantizer.block_size > 0);
}

// Weights that a DequantizeLinear makes in each run stay as narrow as they are.
void convert_dequantized(Rewriter& rewriter, OpId id) {
  const Op product = rewriter.op(id);
  const bool is_gemm = product.is("Gemm");
  const bool has_bias = product.inputs.size() > 2 && product.inputs[2].valid();
  if (is_gemm &&
      (ir::attribute<std::int64_t>(product, "transA") != 0 || ir::attribute<float>(product, "alpha") != 1 ||
       ir::attribute<float>(product, "beta") != 1)) {
    return;
  }
  if (has_bias && !is_vector(rewriter, product.inputs[2], rewriter.type(product.outputs[0]).dims[1])) return;
  if (rewriter.type(product.inputs[0]).rank() < 2) return;
  const auto dequantizer = dequantizer_of(rewriter, product);
  if (!dequantizer) return;
  const bool reads_transposed = is_gemm && ir::attribute<std::int64_t>(product, "transB") != 0;
  const bool transposed = reads_transposed != dequantizer->is_transposed;
  if (!can_stay_narrow(*dequantizer, transposed)) return;
  ir::Graph& graph = rewriter.graph();
  const auto known = [&](const Tensor& tensor) {
    return graph.add_constant(graph.fresh_name("dequantized"), tensor);
  };
  std::vector<ValueId> inputs{product.inputs[0], known(dequantizer->weights), known(dequantizer->scale),
                              dequantizer->zero_point ? known(*dequantizer->zero_point) : ir::kNoValue};
  if (has_bias) inputs.push_back(product.inputs[2]);
  Op fused = make_op("DequantizedMatMul", "podium", std::move(inputs), product.outputs,
                     {{"transB", std::int64_t{transposed}}, {"block_size", dequantizer->block_size}});
  fused.name = product.name;
  rewriter.replace(id, std::move(fused));
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
