#include "executor/numeric/fold_batch_norm.h"

#include <array>
#include <cmath>

#include "executor/kernels/tools/convert.h"
#include "executor/numeric/layout_rules.h"
#include "executor/numeric/rewriter.h"
#include "ir/late_tensor.h"

namespace podium::numeric {

using ir::OpId;
using ir::Tensor;
using ir::ValueId;

namespace {

Tensor scaled(const Tensor& weights, const Affine& affine) {
  Tensor result(ir::DataType::Float, weights.dims());
  const std::int64_t per_channel = weights.size() / weights.dim(0);
  const auto* from = weights.data<float>();
  auto* to = result.data<float>();
  for (std::int64_t i = 0; i < weights.size(); ++i)
    to[i] = static_cast<float>(from[i] * affine.scale[i / per_channel]);
  return result;
}

// Weights that were packed before are not read once more (PackedStore).
Tensor scaled_weights(const Tensor& weights, const Affine& affine) {
  if (weights.bytes() < ir::kLateBytes) return scaled(weights, affine);
  return ir::late_tensor(
      weights.type_and_dims(), [=] { return scaled(weights, affine); },
      [=](ir::Digests& digests) {
        return ir::Digester()
            .add("scaled by channel")
            .add(digests.of(weights))
            .add(std::as_bytes(std::span(affine.scale)))
            .digest();
      });
}

Tensor shifted_bias(const Tensor* bias, const Affine& affine) {
  const auto channels = std::ssize(affine.scale);
  Tensor result(ir::DataType::Float, {channels});
  for (std::size_t c = 0; c < affine.scale.size(); ++c) {
    const double before = bias == nullptr ? 0.0 : bias->data<float>()[c];
    result.data<float>()[c] = static_cast<float>(before * affine.scale[c] + affine.shift[c]);
  }
  return result;
}

void fold_one(Rewriter& rewriter, OpId norm_id) {
  const ir::Op norm = rewriter.op(norm_id);
  if (!norm.is("BatchNormalization")) return;
  const auto conv_id = rewriter.producer(norm.inputs[0], "Conv");
  if (!conv_id || !rewriter.only_reader(norm.inputs[0]).valid()) return;
  ir::Op conv = rewriter.op(*conv_id);
  const Tensor* weights = rewriter.constant(conv.inputs[1]);
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2].valid();
  const Tensor* bias = has_bias ? rewriter.constant(conv.inputs[2]) : nullptr;
  if (weights == nullptr || weights->type() != ir::DataType::Float || (has_bias && bias == nullptr)) return;
  const auto affine = known_affine(rewriter, norm);
  if (!affine) return;
  Tensor new_weights = scaled_weights(*weights, *affine);
  Tensor new_bias = shifted_bias(bias, *affine);
  ir::Graph& graph = rewriter.graph();
  conv.inputs.resize(3);
  conv.inputs[1] = graph.add_constant(graph.fresh_name("folded_weights"), std::move(new_weights));
  conv.inputs[2] = graph.add_constant(graph.fresh_name("folded_bias"), std::move(new_bias));
  conv.outputs = norm.outputs;
  rewriter.erase(*conv_id);
  rewriter.replace(norm_id, std::move(conv));
}

}  // namespace

std::optional<Affine> known_affine(const Rewriter& rewriter, const ir::Op& op) {
  const ir::Graph& graph = rewriter.graph();
  if (!op.is("BatchNormalization") || op.outputs.size() != 1 ||
      ir::attribute<std::int64_t>(op, "training_mode") != 0 ||
      !(is_static_float(graph, op) || is_of_narrow_floats(graph, op)))
    return std::nullopt;
  std::array<Tensor, 4> parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor* known = rewriter.constant(op.inputs[i + 1]);
    if (known == nullptr) return std::nullopt;
    parameters[i] = kernels::as_float(*known);
  }
  const double epsilon = ir::attribute<float>(op, "epsilon");
  Affine affine;
  for (std::int64_t c = 0; c < parameters[0].size(); ++c) {
    const double gamma = std::as_const(parameters[0]).data<float>()[c];
    const double beta = std::as_const(parameters[1]).data<float>()[c];
    const double mean = std::as_const(parameters[2]).data<float>()[c];
    const double variance = std::as_const(parameters[3]).data<float>()[c];
    const double scale = gamma / std::sqrt(variance + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(beta - mean * scale);
  }
  return affine;
}

bool fold_batch_norm(ir::Graph& graph) {
  Rewriter rewriter(graph);
  for (OpId id : rewriter.op_ids()) fold_one(rewriter, id);
  return rewriter.finish();
}

}  // namespace podium::numeric
