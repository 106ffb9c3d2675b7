// The gradient is found from its end, with means over all axes but the channels':
//   inverse = 1 / Sqrt(mean(moved * moved) + epsilon),  moved = x - mean(x),  y = moved * inverse
//   into = flow * scale,  dX = inverse * ((into - mean(into)) - y * mean(into * y))
// The sums of flow * y and of flow over the same axes, gradients of scale and bias, are outputs of the op,
// too, where they come after dX, whose place it takes.
#include "executor/numeric/fold_batch_norm.h"

#include <algorithm>
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

// The other factor of a product with a known one.
std::optional<ValueId> factor_beside(const Rewriter& rewriter, ValueId product, ValueId known) {
  const auto mul = rewriter.producer(product, "Mul");
  if (!mul) return std::nullopt;
  const ir::Op& op = rewriter.op(*mul);
  if (op.inputs[0] != known && op.inputs[1] != known) return std::nullopt;
  return rewriter.other_input(*mul, known);
}

// A reduction over all axes but the channels' that leaves their places.
bool is_per_channel(const Rewriter& rewriter, const ir::Op& op) {
  if (op.inputs.size() < 2 || ir::attribute<std::int64_t>(op, "keepdims") == 0) return false;
  const Tensor* axes = op.inputs[1].valid() ? rewriter.constant(op.inputs[1]) : nullptr;
  const std::int64_t rank = rewriter.type(op.inputs[0]).rank();
  if (axes == nullptr || rank < 2 || axes->size() != rank - 1) return false;
  const auto given = axes->to_ints();
  return std::none_of(given.begin(), given.end(),
                      [&](std::int64_t axis) { return axis == 1 || axis == 1 - rank; });
}

// `id` is the mean per channel of a value: that value.
std::optional<ValueId> averaged(const Rewriter& rewriter, ValueId id) {
  const auto mean = rewriter.producer(id, "ReduceMean");
  if (!mean || !is_per_channel(rewriter, rewriter.op(*mean))) return std::nullopt;
  return rewriter.op(*mean).inputs[0];
}

// `id` is a value less its mean per channel: that value.
std::optional<ValueId> centered_per_channel(const Rewriter& rewriter, ValueId id) {
  const auto sub = rewriter.producer(id, "Sub");
  if (!sub) return std::nullopt;
  const ValueId x = rewriter.op(*sub).inputs[0];
  return averaged(rewriter, rewriter.op(*sub).inputs[1]) == x ? std::optional(x) : std::nullopt;
}

// `inverse` is 1 / Sqrt(mean(moved * moved) + epsilon): epsilon.
std::optional<double> epsilon_of(const Rewriter& rewriter, ValueId inverse, ValueId moved) {
  const auto div = rewriter.producer(inverse, "Div");
  if (!div || rewriter.number(rewriter.op(*div).inputs[0]) != 1.0) return std::nullopt;
  const auto root = rewriter.producer(rewriter.op(*div).inputs[1], "Sqrt");
  const auto add = root ? rewriter.producer(rewriter.op(*root).inputs[0], "Add") : std::nullopt;
  if (!add) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto epsilon = rewriter.number(rewriter.op(*add).inputs[i]);
    const auto squares = averaged(rewriter, rewriter.op(*add).inputs[1 - i]);
    if (epsilon && squares && factor_beside(rewriter, *squares, moved) == moved) return epsilon;
  }
  return std::nullopt;
}

struct BatchNormGradient {
  ValueId x;
  ValueId flow;
  ValueId scale;  // a number per channel
  ValueId y;      // normalised, without scale and shift
  double epsilon = 0;
};

// The factors of flow * scale.
bool find_scale(const Rewriter& rewriter, ValueId into, BatchNormGradient& found) {
  const auto mul = rewriter.producer(into, "Mul");
  if (!mul) return false;
  const ir::Type& type = rewriter.type(found.x);
  for (std::size_t i = 0; i < 2; ++i) {
    found.flow = rewriter.op(*mul).inputs[i];
    found.scale = rewriter.op(*mul).inputs[1 - i];
    const ir::Type& scale = rewriter.type(found.scale);
    const bool has_channels =
        scale.rank() == type.rank() && scale.dims[1] == type.dims[1] && scale.element_count() == type.dims[1];
    if (rewriter.type(found.flow) == type && has_channels) return true;
  }
  return false;
}

// dX = inverse * (centred - y * mean(into * y)), with these two factors.
std::optional<BatchNormGradient> match_gradient(const Rewriter& rewriter, ValueId inverse, ValueId other) {
  const auto difference = rewriter.producer(other, "Sub");
  if (!difference) return std::nullopt;
  const auto into = centered_per_channel(rewriter, rewriter.op(*difference).inputs[0]);
  const auto along = rewriter.producer(rewriter.op(*difference).inputs[1], "Mul");
  if (!into || !along) return std::nullopt;
  for (const ValueId y : rewriter.op(*along).inputs) {
    const auto product = averaged(rewriter, rewriter.other_input(*along, y));
    const auto moved = factor_beside(rewriter, y, inverse);
    if (!product || !moved || factor_beside(rewriter, *product, y) != into) continue;
    const auto x = centered_per_channel(rewriter, *moved);
    const auto epsilon = epsilon_of(rewriter, inverse, *moved);
    if (!x || !epsilon) continue;
    BatchNormGradient found{.x = *x, .flow = {}, .scale = {}, .y = y, .epsilon = *epsilon};
    if (find_scale(rewriter, *into, found)) return found;
  }
  return std::nullopt;
}

// A sum per channel of the value that comes after an op.
std::optional<OpId> sum_after(const Rewriter& rewriter, ValueId value, OpId after) {
  for (const OpId reader : rewriter.readers(value)) {
    const ir::Op& op = rewriter.op(reader);
    if (reader > after && op.is("ReduceSum") && is_per_channel(rewriter, op)) return reader;
  }
  return std::nullopt;
}

std::optional<OpId> sum_of_product_after(const Rewriter& rewriter, ValueId a, ValueId b, OpId after) {
  for (const OpId reader : rewriter.readers(a)) {
    const ir::Op& op = rewriter.op(reader);
    if (!op.is("Mul") || rewriter.other_input(reader, a) != b) continue;
    if (const auto sum = sum_after(rewriter, op.outputs[0], after)) return sum;
  }
  return std::nullopt;
}

void fuse_gradient_at(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  if (!op.is("Mul") || !is_static_float(rewriter.graph(), op)) return;
  auto found = match_gradient(rewriter, op.inputs[0], op.inputs[1]);
  if (!found) found = match_gradient(rewriter, op.inputs[1], op.inputs[0]);
  if (!found || !(rewriter.type(op.outputs[0]) == rewriter.type(found->x))) return;
  ir::Op fused = make_op("BatchNormalizationGradient", "podium", {found->x, found->flow, found->scale},
                         {op.outputs[0], {}, {}}, {{"epsilon", static_cast<float>(found->epsilon)}});
  fused.name = op.name;
  const std::array sums{sum_of_product_after(rewriter, found->flow, found->y, id),
                        sum_after(rewriter, found->flow, id)};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!sums[i]) continue;
    fused.outputs[1 + i] = rewriter.op(*sums[i]).outputs[0];
    rewriter.erase(*sums[i]);
  }
  rewriter.replace(id, std::move(fused));
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

bool fuse_batch_norm_gradient(ir::Graph& graph) {
  Rewriter rewriter(graph);
  for (OpId id : rewriter.op_ids()) {
    if (rewriter.is_alive(id)) fuse_gradient_at(rewriter, id);
  }
  return rewriter.finish();
}

}  // namespace podium::numeric
