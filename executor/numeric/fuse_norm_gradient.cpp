// A gradient is found from its end, with means over the same axes, all but the channels' or the last ones:
//   inverse = 1 / Sqrt(mean(moved * moved) + epsilon),  moved = x - mean(x),  y = moved * inverse
//   into = flow * scale,  dX = inverse * ((into - mean(into)) - y * mean(into * y))
// The sums of flow * y and of flow over the axes in which the scale does not change, gradients of scale and
// bias, are outputs of the op, too, where they come after dX, whose place it takes.
#include "executor/numeric/fuse_norm_gradient.h"

#include <algorithm>
#include <array>
#include <optional>

#include "executor/numeric/rewriter.h"

namespace podium::numeric {
namespace {

using ir::Dims;
using ir::OpId;
using ir::ValueId;

// The other factor of a product with a known one.
std::optional<ValueId> factor_beside(const Rewriter& rewriter, ValueId product, ValueId known) {
  const auto mul = rewriter.producer(product, "Mul");
  if (!mul) return std::nullopt;
  const ir::Op& op = rewriter.op(*mul);
  if (op.inputs[0] != known && op.inputs[1] != known) return std::nullopt;
  return rewriter.other_input(*mul, known);
}

// The axes of 0 to rank - 1 that are not among these.
Dims other_axes(const Dims& axes, std::int64_t rank) {
  Dims others;
  for (std::int64_t axis = 0; axis < rank; ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), axis)) others.push_back(axis);
  }
  return others;
}

// `id` is a value less its mean: over which axes.
std::optional<Dims> axes_of_mean_in(const Rewriter& rewriter, ValueId id) {
  const auto sub = rewriter.producer(id, "Sub");
  const auto mean = sub ? rewriter.producer(rewriter.op(*sub).inputs[1], "ReduceMean") : std::nullopt;
  return mean ? axes_of(rewriter, rewriter.op(*mean)) : std::nullopt;
}

// `inverse` is 1 / Sqrt(mean(moved * moved) + epsilon): epsilon.
std::optional<double> epsilon_of(const Rewriter& rewriter, ValueId inverse, ValueId moved, const Dims& axes) {
  const auto div = rewriter.producer(inverse, "Div");
  if (!div || rewriter.number(rewriter.op(*div).inputs[0]) != 1.0) return std::nullopt;
  const auto root = rewriter.producer(rewriter.op(*div).inputs[1], "Sqrt");
  const auto add = root ? rewriter.producer(rewriter.op(*root).inputs[0], "Add") : std::nullopt;
  if (!add) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const auto epsilon = rewriter.number(rewriter.op(*add).inputs[i]);
    const auto squares = averaged(rewriter, rewriter.op(*add).inputs[1 - i], axes);
    if (epsilon && squares && factor_beside(rewriter, *squares, moved) == moved) return epsilon;
  }
  return std::nullopt;
}

struct NormGradient {
  ValueId x;
  ValueId into;  // the flow times the scale
  ValueId y;     // normalised, without scale and shift
  double epsilon = 0;
  Dims axes;  // of the means
};

// dX = inverse * (centred - y * mean(into * y)), with these two factors.
std::optional<NormGradient> match(const Rewriter& rewriter, ValueId inverse, ValueId other) {
  const auto difference = rewriter.producer(other, "Sub");
  if (!difference) return std::nullopt;
  const ValueId centred = rewriter.op(*difference).inputs[0];
  const auto axes = axes_of_mean_in(rewriter, centred);
  const auto into = axes ? centered(rewriter, centred, *axes) : std::nullopt;
  const auto along = rewriter.producer(rewriter.op(*difference).inputs[1], "Mul");
  if (!into || !along) return std::nullopt;
  for (const ValueId y : rewriter.op(*along).inputs) {
    const auto product = averaged(rewriter, rewriter.other_input(*along, y), *axes);
    const auto moved = factor_beside(rewriter, y, inverse);
    if (!product || !moved || factor_beside(rewriter, *product, y) != into) continue;
    const auto x = centered(rewriter, *moved, *axes);
    const auto epsilon = epsilon_of(rewriter, inverse, *moved, *axes);
    if (x && epsilon) return NormGradient{.x = *x, .into = *into, .y = y, .epsilon = *epsilon, .axes = *axes};
  }
  return std::nullopt;
}

// How the op that takes its place goes over X.
struct Form {
  std::string_view op;
  std::vector<ir::Attribute> attributes = {};
  Dims scale;   // its dims
  Dims summed;  // the axes over which the gradients of scale and bias are sums
};

std::optional<Form> form_of(const Dims& x, const Dims& axes) {
  const auto rank = std::ssize(x);
  const Dims others = other_axes(axes, rank);
  if (others == Dims{1}) {
    Dims channels(rank, 1);
    channels[1] = x[1];
    return Form{.op = "BatchNormalizationGradient", .scale = std::move(channels), .summed = axes};
  }
  const auto first = std::ssize(others);  // of the last axes, if they are
  if (axes.empty() || others.empty() || axes.front() != first) return std::nullopt;
  return Form{.op = "LayerNormalizationGradient",
              .attributes = {{"axis", std::int64_t{first}}},
              .scale = Dims(x.begin() + first, x.end()),
              .summed = others};
}

struct ScaledFlow {
  ValueId flow;
  ValueId scale;
};

// The factors of flow * scale.
std::optional<ScaledFlow> factors_of(const Rewriter& rewriter, const NormGradient& found, const Dims& scale) {
  const auto mul = rewriter.producer(found.into, "Mul");
  if (!mul) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ScaledFlow factors{rewriter.op(*mul).inputs[i], rewriter.op(*mul).inputs[1 - i]};
    if (rewriter.type(factors.flow) == rewriter.type(found.x) && rewriter.type(factors.scale).dims == scale)
      return factors;
  }
  return std::nullopt;
}

// A sum over the axes of the value that comes after an op.
std::optional<OpId> sum_after(const Rewriter& rewriter, ValueId value, const Dims& axes, OpId after) {
  for (const OpId reader : rewriter.readers(value)) {
    const ir::Op& op = rewriter.op(reader);
    if (reader > after && op.is("ReduceSum") && axes_of(rewriter, op) == axes) return reader;
  }
  return std::nullopt;
}

std::optional<OpId> sum_of_product_after(const Rewriter& rewriter, ValueId a, ValueId b, const Dims& axes,
                                         OpId after) {
  for (const OpId reader : rewriter.readers(a)) {
    const ir::Op& op = rewriter.op(reader);
    if (!op.is("Mul") || rewriter.other_input(reader, a) != b) continue;
    if (const auto sum = sum_after(rewriter, op.outputs[0], axes, after)) return sum;
  }
  return std::nullopt;
}

void fuse_at(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  if (!op.is("Mul") || !is_static_float(rewriter.graph(), op)) return;
  auto found = match(rewriter, op.inputs[0], op.inputs[1]);
  if (!found) found = match(rewriter, op.inputs[1], op.inputs[0]);
  if (!found || !(rewriter.type(op.outputs[0]) == rewriter.type(found->x))) return;
  auto form = form_of(rewriter.type(found->x).dims, found->axes);
  const auto factors = form ? factors_of(rewriter, *found, form->scale) : std::nullopt;
  if (!factors) return;
  form->attributes.push_back({"epsilon", static_cast<float>(found->epsilon)});
  ir::Op fused = make_op(form->op, "podium", {found->x, factors->flow, factors->scale},
                         {op.outputs[0], {}, {}}, std::move(form->attributes));
  fused.name = op.name;
  const std::array sums{sum_of_product_after(rewriter, factors->flow, found->y, form->summed, id),
                        sum_after(rewriter, factors->flow, form->summed, id)};
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (!sums[i]) continue;
    fused.outputs[1 + i] = rewriter.op(*sums[i]).outputs[0];
    rewriter.erase(*sums[i]);
  }
  rewriter.replace(id, std::move(fused));
}

}  // namespace

bool fuse_norm_gradient(ir::Graph& graph) {
  Rewriter rewriter(graph);
  for (OpId id : rewriter.op_ids()) {
    if (rewriter.is_alive(id)) fuse_at(rewriter, id);
  }
  return rewriter.finish();
}

}  // namespace podium::numeric
