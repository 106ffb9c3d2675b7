#include "executor/numeric/fold_batch_norm.h"

#include <cmath>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {

using ir::OpId;
using ir::Tensor;

namespace {

// Per channel: y = x * scale + shift.
struct Affine {
  std::vector<double> scale;
  std::vector<double> shift;
};

std::optional<Affine> affine_of(const Rewriter& rewriter, const ir::Op& norm) {
  const Tensor* parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    parameters[i] = rewriter.constant(norm.inputs[i + 1]);
    if (parameters[i] == nullptr || parameters[i]->type() != ir::DataType::Float) return std::nullopt;
  }
  const double epsilon = ir::attribute<float>(norm, "epsilon");
  Affine affine;
  for (std::int64_t c = 0; c < parameters[0]->size(); ++c) {
    const double gamma = parameters[0]->data<float>()[c];
    const double beta = parameters[1]->data<float>()[c];
    const double mean = parameters[2]->data<float>()[c];
    const double variance = parameters[3]->data<float>()[c];
    const double scale = gamma / std::sqrt(variance + epsilon);
    affine.scale.push_back(scale);
    affine.shift.push_back(beta - mean * scale);
  }
  return affine;
}

Tensor scaled_weights(const Tensor& weights, const Affine& affine) {
  Tensor result(ir::DataType::Float, weights.dims());
  const std::int64_t per_channel = weights.size() / weights.dim(0);
  for (std::int64_t i = 0; i < weights.size(); ++i) {
    const double scale = affine.scale[i / per_channel];
    result.data<float>()[i] = static_cast<float>(weights.data<float>()[i] * scale);
  }
  return result;
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
  if (!norm.is("BatchNormalization") || norm.outputs.size() != 1 || !is_static_float(rewriter.graph(), norm))
    return;
  if (ir::attribute<std::int64_t>(norm, "training_mode") != 0) return;
  const auto conv_id = rewriter.producer(norm.inputs[0], "Conv");
  if (!conv_id || !rewriter.only_reader(norm.inputs[0]).valid()) return;
  ir::Op conv = rewriter.op(*conv_id);
  const Tensor* weights = rewriter.constant(conv.inputs[1]);
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2].valid();
  const Tensor* bias = has_bias ? rewriter.constant(conv.inputs[2]) : nullptr;
  if (weights == nullptr || weights->type() != ir::DataType::Float || (has_bias && bias == nullptr)) return;
  const auto affine = affine_of(rewriter, norm);
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

bool fold_batch_norm(ir::Graph& graph) {
  Rewriter rewriter(graph);
  for (OpId id : rewriter.op_ids()) fold_one(rewriter, id);
  return rewriter.finish();
}

}  // namespace podium::numeric
