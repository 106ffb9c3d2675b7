// A gradient is found from its end, with means over the same axes, all but the channels' or the last ones:
//   inverse = 1 / Sqrt(mean(moved * moved) + epsilon),  moved = x - mean(x),  y = moved * inverse
//   into = flow * scale,  dX = inverse * ((into - mean(into)) - y * mean(into * y))
// The sums of flow * y and of flow over the axes in which the scale does not change, gradients of scale and
// bias, are outputs of the op, too. The op stands where the first of its outputs was made.
// Groups of channels are rows of a Reshape: x and into are results of one then, and dX goes into another.
#include "executor/numeric/fuse_norm_gradient.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

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

// The op that takes the place of the others.
struct Form {
  std::string_view op;
  std::vector<ir::Attribute> attributes = {};
  ValueId x;
  ValueId flow;
  ValueId scale = {};  // not valid where there is none
  Dims summed = {};    // the axes over which the gradients of scale and bias are sums
  OpId last;           // makes dX
};

struct ScaledFlow {
  ValueId flow;
  ValueId scale;
};

// The factors of flow * scale, where the flow is like X and the scale has dims that fit.
template <class Fits>
std::optional<ScaledFlow> factors_of(const Rewriter& rewriter, ValueId product, ValueId x, const Fits& fits) {
  const auto mul = rewriter.producer(product, "Mul");
  if (!mul) return std::nullopt;
  for (std::size_t i = 0; i < 2; ++i) {
    const ScaledFlow factors{rewriter.op(*mul).inputs[i], rewriter.op(*mul).inputs[1 - i]};
    if (rewriter.type(factors.flow) == rewriter.type(x) && fits(rewriter.type(factors.scale).dims))
      return factors;
  }
  return std::nullopt;
}

// The number of stretches of X that have a mean each, where the means are over the last axes and X has
// elements.
std::optional<std::int64_t> stretches_of(const Dims& x, const Dims& axes) {
  const std::int64_t first = std::ssize(x) - std::ssize(axes);
  if (axes.empty() || first < 1 || axes.front() != first || ir::element_count(x) == 0) return std::nullopt;
  return ir::element_count(Dims(x.begin(), x.begin() + first));
}

std::optional<Form> batch_form(const Rewriter& rewriter, const NormGradient& found, OpId last) {
  const Dims& x = rewriter.type(found.x).dims;
  if (other_axes(found.axes, std::ssize(x)) != Dims{1}) return std::nullopt;
  Dims channels(x.size(), 1);
  channels[1] = x[1];
  const auto factors =
      factors_of(rewriter, found.into, found.x, [&](const Dims& scale) { return scale == channels; });
  if (!factors) return std::nullopt;
  return Form{.op = "BatchNormalizationGradient",
              .x = found.x,
              .flow = factors->flow,
              .scale = factors->scale,
              .summed = found.axes,
              .last = last};
}

std::optional<Form> layer_form(const Rewriter& rewriter, const NormGradient& found, OpId last) {
  const Dims& x = rewriter.type(found.x).dims;
  if (!stretches_of(x, found.axes)) return std::nullopt;
  const std::int64_t first = found.axes.front();
  const auto factors = factors_of(rewriter, found.into, found.x, [&](const Dims& scale) {
    return scale == Dims(x.begin() + first, x.end());
  });
  if (!factors) return std::nullopt;
  return Form{.op = "LayerNormalizationGradient",
              .attributes = {{"axis", first}},
              .x = found.x,
              .flow = factors->flow,
              .scale = factors->scale,
              .summed = other_axes(found.axes, std::ssize(x)),
              .last = last};
}

// The same for all elements of a channel of X: [C, 1, ...] or [1, C, 1, ...].
bool is_scale_of_channels(const Dims& scale, const Dims& x) {
  const std::int64_t ahead = std::ssize(scale) - (std::ssize(x) - 1);  // axes before that of the channels
  return (ahead == 0 || ahead == 1) && scale[ahead] == x[1] && ir::element_count(scale) == x[1];
}

// Whether each of so many stretches of X is whole channels of an image. Channels of one element are not worth
// going over one by one: an op of its own multiplies with their scale faster.
bool are_groups(const Dims& x, std::int64_t stretches) {
  if (x.size() < 3 || stretches % x[0] != 0 || x[1] % (stretches / x[0]) != 0) return false;
  return ir::element_count(x) > x[0] * x[1];
}

// Instance and group normalisation. What a Reshape has made groups of is taken as it was before.
std::optional<Form> group_form(const Rewriter& rewriter, const NormGradient& found, OpId last) {
  const auto stretches = stretches_of(rewriter.type(found.x).dims, found.axes);
  if (!stretches) return std::nullopt;
  ValueId x = found.x;
  ValueId product = found.into;
  if (const auto grouping = rewriter.producer(found.into, "Reshape")) {
    const auto joining = rewriter.producer(found.x, "Reshape");
    const auto parting = rewriter.only_reader(rewriter.op(last).outputs[0], "Reshape");
    if (!joining || !parting) return std::nullopt;
    product = rewriter.op(*grouping).inputs[0];
    x = rewriter.op(*joining).inputs[0];
    last = *parting;
  }
  const ir::Type& type = rewriter.type(x);
  if (!(rewriter.type(rewriter.op(last).outputs[0]) == type) || !are_groups(type.dims, *stretches))
    return std::nullopt;
  const auto factors = factors_of(rewriter, product, x,
                                  [&](const Dims& scale) { return is_scale_of_channels(scale, type.dims); });
  if (!factors) return std::nullopt;
  return Form{.op = "GroupNormalizationGradient",
              .attributes = {{"stretches", *stretches}},
              .x = x,
              .flow = factors->flow,
              .scale = factors->scale,
              .summed = other_axes({1}, type.rank()),
              .last = last};
}

// A scale that is no other form's stays an op of its own.
std::optional<Form> form_without_scale(const Rewriter& rewriter, const NormGradient& found, OpId last) {
  const ir::Type& type = rewriter.type(found.x);
  const auto stretches = stretches_of(type.dims, found.axes);
  if (!stretches || !(rewriter.type(found.into) == type)) return std::nullopt;
  return Form{.op = "GroupNormalizationGradient",
              .attributes = {{"stretches", *stretches}},
              .x = found.x,
              .flow = found.into,
              .last = last};
}

bool are_all(const Rewriter& rewriter, ValueId id, float wanted) {
  const ir::Tensor* tensor = rewriter.constant(id);
  return tensor != nullptr && tensor->type() == ir::DataType::Float &&
         std::ranges::all_of(tensor->values<float>(), [&](float value) { return value == wanted; });
}

// The normalised X: y, or the result of the forward op where that does not scale; or a Reshape of these.
bool is_normalised(const Rewriter& rewriter, ValueId value, const NormGradient& found) {
  if (value == found.y) return true;
  const auto reshape = rewriter.producer(value, "Reshape");
  const ValueId inner = reshape ? rewriter.op(*reshape).inputs[0] : value;
  if (inner == found.y) return true;
  const auto norm = rewriter.producer(inner, "InstanceNormalization");
  if (!norm) return false;
  const ir::Op& op = rewriter.op(*norm);
  return op.inputs[0] == found.x && found.axes.front() == 2 && are_all(rewriter, op.inputs[1], 1) &&
         are_all(rewriter, op.inputs[2], 0) &&
         ir::attribute<float>(op, "epsilon") == static_cast<float>(found.epsilon);
}

// A sum over the axes of the value that comes after an op.
std::optional<OpId> sum_after(const Rewriter& rewriter, ValueId value, const Dims& axes, OpId after) {
  for (const OpId reader : rewriter.readers(value)) {
    const ir::Op& op = rewriter.op(reader);
    if (reader > after && op.is("ReduceSum") && axes_of(rewriter, op) == axes) return reader;
  }
  return std::nullopt;
}

// A sum of flow * y.
std::optional<OpId> sum_along_after(const Rewriter& rewriter, const Form& form, const NormGradient& found,
                                    OpId after) {
  for (const OpId reader : rewriter.readers(form.flow)) {
    const ir::Op& op = rewriter.op(reader);
    if (!op.is("Mul") || !(rewriter.type(op.outputs[0]) == rewriter.type(form.x)) ||
        !is_normalised(rewriter, rewriter.other_input(reader, form.flow), found))
      continue;
    if (const auto sum = sum_after(rewriter, op.outputs[0], form.summed, after)) return sum;
  }
  return std::nullopt;
}

void put_in_place(Rewriter& rewriter, const Form& form, const NormGradient& found, const std::string& name) {
  ir::Op fused = make_op(form.op, "podium", {form.x, form.flow, form.scale},
                         {rewriter.op(form.last).outputs[0], {}, {}}, form.attributes);
  fused.attributes.push_back({"epsilon", static_cast<float>(found.epsilon)});
  fused.name = name;
  OpId place = form.last;
  if (form.scale.valid()) {
    const OpId ready =
        std::max({rewriter.producer(form.x), rewriter.producer(form.flow), rewriter.producer(form.scale)});
    const std::array sums{sum_along_after(rewriter, form, found, ready),
                          sum_after(rewriter, form.flow, form.summed, ready)};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (!sums[i]) continue;
      fused.outputs[1 + i] = rewriter.op(*sums[i]).outputs[0];
      rewriter.erase(*sums[i]);
      place = std::min(place, *sums[i]);
    }
  }
  rewriter.erase(form.last);
  rewriter.replace(place, std::move(fused));
}

void fuse_at(Rewriter& rewriter, OpId id) {
  const ir::Op& op = rewriter.op(id);
  if (!op.is("Mul") || !is_static_float(rewriter.graph(), op)) return;
  auto found = match(rewriter, op.inputs[0], op.inputs[1]);
  if (!found) found = match(rewriter, op.inputs[1], op.inputs[0]);
  if (!found || !(rewriter.type(op.outputs[0]) == rewriter.type(found->x))) return;
  for (const auto& form_of : {batch_form, layer_form, group_form, form_without_scale}) {
    const auto form = form_of(rewriter, *found, id);
    if (form) return put_in_place(rewriter, *form, *found, op.name);
  }
}

}  // namespace

bool fuse_norm_gradient(ir::Graph& graph) { return rewrite_ops(graph, fuse_at); }

}  // namespace podium::numeric
