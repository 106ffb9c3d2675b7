// Normalisations: y = (x - mean) / sqrt(variance + epsilon), scaled and shifted.
// With g the flow times the scale, all of them share  dx = (g - mean(g) - y mean(g y)) / sqrt(variance +
// epsilon) (without mean(g) where the mean is not taken off), over the axes that were normalised; scale and
// shift sum up over the others. Group normalisation is reshaped to one row per group. Batch normalisation out
// of training and running statistics are linear in their inputs; LRN and Lp have equations of their own.
#include <numeric>
#include <optional>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

Term mean(Term x, const Dims& axes) { return x.with("ReduceMean", x.builder->ints(axes)); }

// The gradient of a mean, divided evenly over these axes.
Term shared_out(Term flow, Term x, const Dims& axes) {
  const Term ones = term(*x.builder, x.builder->filled_like(x, 1));
  return ones * (flow / ones.with("ReduceSum", x.builder->ints(axes)));
}

Dims axes_from(std::int64_t first, std::int64_t rank) {
  Dims axes(rank - first);
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

// Scales and statistics may have another element type than X.
Term as_type_of(ValueId like, Term value) {
  TermBuilder& context = *value.builder;
  return context.type(like).element == context.type(value).element ? value : value.with("CastLike", like);
}

// Per channel, as it stretches over [N, C, ...], in X's type.
Term per_channel(GradientContext& context, ValueId value, std::int64_t rank) {
  Dims dims(rank, 1);
  dims[1] = -1;
  return as_type_of(context.input(0), term(context, value)).with("Reshape", context.ints(dims));
}

// The sum over everything but the channels, in the shape and type of `like`.
ValueId sum_per_channel(Term value, std::int64_t rank, ValueId like) {
  Dims axes = axes_from(2, rank);
  axes.insert(axes.begin(), 0);
  const Term sum = as_type_of(like, value).with("ReduceSum", value.builder->ints(axes));
  return value.builder->reshape_like(sum, like);
}

struct Normalised {
  Term y;        ///< without scale and shift
  Term inverse;  ///< 1 / sqrt(variance + epsilon)
  Dims axes;
  bool centred;

  Term gradient(Term flow) const {
    const Term along = y * mean(flow * y, axes);
    return inverse * ((centred ? flow - mean(flow, axes) : flow) - along);
  }
};

Normalised normalise(Term x, Dims axes, double epsilon, bool centred = true) {
  const Term moved = centred ? x - mean(x, axes) : x;
  const Term inverse = 1.0 / (mean(moved * moved, axes) + epsilon).call("Sqrt");
  return {moved * inverse, inverse, std::move(axes), centred};
}

double epsilon_of(const GradientContext& context) {
  return static_cast<double>(attribute<float>(context.op, "epsilon"));
}

// The gradient of output i; nothing where nothing flows.
std::optional<Term> flow_into(GradientContext& context, std::size_t i) {
  const bool flows = i < context.output_gradients.size() && context.output_gradients[i].valid();
  return flows ? std::optional(term(context, context.output_gradients[i])) : std::nullopt;
}

void add_to_gradient(GradientContext& context, std::size_t i, Term more) {
  const ValueId before = context.input_gradients[i];
  context.set(i, before.valid() ? context.call("Add", {before, more}) : more);
}

// The common end: scale and shift per channel.
void set_channel_norm(GradientContext& context, const Normalised& normalised, std::int64_t rank) {
  const Term flow = flow_of(context);
  const Term y{&context, context.reshape_like(normalised.y, context.input(0))};
  if (context.wants(0)) {
    const Term into = flow * per_channel(context, context.input(1), rank);
    const Term shaped{&context, context.reshape_like(into, normalised.y)};
    context.set(0, context.reshape_like(normalised.gradient(shaped), context.input(0)));
  }
  if (context.wants(1)) context.set(1, sum_per_channel(flow * y, rank, context.input(1)));
  if (context.wants(2)) context.set(2, sum_per_channel(flow, rank, context.input(2)));
}

// With the running statistics, which are inputs.
void inference_batch_norm(GradientContext& context, std::int64_t rank) {
  const Term flow = flow_of(context);
  const Term x = term(context, context.input(0));
  const Term scale = per_channel(context, context.input(1), rank);
  const Term variance = per_channel(context, context.input(4), rank);
  const Term inverse = 1.0 / (variance + epsilon_of(context)).call("Sqrt");
  const Term y = (x - per_channel(context, context.input(3), rank)) * inverse;
  if (context.wants(0)) context.set(0, flow * scale * inverse);
  if (context.wants(1)) context.set(1, sum_per_channel(flow * y, rank, context.input(1)));
  if (context.wants(2)) context.set(2, sum_per_channel(flow, rank, context.input(2)));
  if (context.wants(3)) context.set(3, sum_per_channel(-(flow * scale * inverse), rank, context.input(3)));
  if (context.wants(4)) {
    context.set(4, sum_per_channel(flow * scale * y * inverse * inverse * -0.5, rank, context.input(4)));
  }
}

// running = momentum * running + (1 - momentum) * the statistic of x.
void set_running_statistics(GradientContext& context, const Normalised& normalised, std::int64_t rank) {
  const double momentum = static_cast<double>(attribute<float>(context.op, "momentum"));
  const Term x = term(context, context.input(0));
  for (std::size_t i = 1; i < 3; ++i) {
    const std::optional<Term> flow = flow_into(context, i);
    if (!flow) continue;
    if (context.wants(2 + i)) context.set(2 + i, *flow * momentum);
    if (!context.wants(0)) continue;
    const Term share = shared_out(per_channel(context, *flow, rank) * (1 - momentum), x, normalised.axes);
    add_to_gradient(context, 0, i == 1 ? share : share * (normalised.y / normalised.inverse) * 2);
  }
}

void batch_normalization_gradient(GradientContext& context) {
  const std::int64_t rank = context.rank(context.input(0));
  if (attribute<std::int64_t>(context.op, "training_mode") == 0) return inference_batch_norm(context, rank);
  Dims axes = axes_from(2, rank);
  axes.insert(axes.begin(), 0);
  const Normalised normalised = normalise(term(context, context.input(0)), axes, epsilon_of(context));
  if (context.output_gradient().valid()) set_channel_norm(context, normalised, rank);
  set_running_statistics(context, normalised, rank);
}

void instance_normalization_gradient(GradientContext& context) {
  const std::int64_t rank = context.rank(context.input(0));
  set_channel_norm(context,
                   normalise(term(context, context.input(0)), axes_from(2, rank), epsilon_of(context)), rank);
}

void group_normalization_gradient(GradientContext& context) {
  const Dims dims = context.static_dims(context.input(0));
  const std::int64_t groups = attribute<std::int64_t>(context.op, "num_groups");
  const Term grouped = term(context, context.input(0)).with("Reshape", context.ints({dims[0], groups, -1}));
  const auto rank = std::ssize(dims);
  set_channel_norm(context, normalise(grouped, {2}, epsilon_of(context)), rank);
}

void layer_normalization_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const std::int64_t rank = context.rank(x);
  const std::int64_t first = normalized_axis(attribute<std::int64_t>(context.op, "axis"), rank);
  const Normalised normalised = normalise(x, axes_from(first, rank), epsilon_of(context));
  if (const std::optional<Term> flow = flow_into(context, 0)) {
    const Term scale = term(context, context.input(1));
    if (context.wants(0)) context.set(0, normalised.gradient(*flow * scale));
    if (context.wants(1)) context.set(1, context.sum_to_shape_of(*flow * normalised.y, scale));
    if (context.wants(2)) context.set(2, context.sum_to_shape_of(*flow, context.input(2)));
  }
  if (!context.wants(0)) return;
  // The mean and 1 / sqrt(variance + epsilon) are outputs, too.
  if (const auto flow = flow_into(context, 1)) {
    add_to_gradient(context, 0, shared_out(flow->with("CastLike", x), x, normalised.axes));
  }
  if (const auto flow = flow_into(context, 2)) {
    const Term share = shared_out(flow->with("CastLike", x), x, normalised.axes);
    add_to_gradient(context, 0, -(share * normalised.y * normalised.inverse * normalised.inverse));
  }
}

void rms_normalization_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const std::int64_t rank = context.rank(x);
  const std::int64_t first = normalized_axis(attribute<std::int64_t>(context.op, "axis"), rank);
  const Normalised normalised = normalise(x, axes_from(first, rank), epsilon_of(context), false);
  const Term flow = flow_of(context);
  const Term scale = term(context, context.input(1));
  if (context.wants(0)) context.set(0, normalised.gradient(as_type_of(x, flow * scale)));
  if (context.wants(1)) context.set(1, context.sum_to_shape_of(flow * as_type_of(flow, normalised.y), scale));
}

void mean_variance_normalization_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  Dims axes;
  for (std::int64_t axis : attribute<IntList>(context.op, "axes"))
    axes.push_back(normalized_axis(axis, context.rank(x)));
  constexpr double kSmallestVariance = 1e-18;  // the op adds 1e-9 to the deviation
  context.set(0, normalise(x, axes, kSmallestVariance).gradient(flow_of(context)));
}

// y = x / norm. 0 where the norm is 0.
void lp_normalization_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Term y = term(context, context.output());
  const Term flow = flow_of(context);
  const Dims axis{attribute<std::int64_t>(context.op, "axis")};
  const bool is_l1 = attribute<std::int64_t>(context.op, "p") == 1;
  const Term norm = x.with(is_l1 ? "ReduceL1" : "ReduceL2", context.ints(axis));
  const Term along = (flow * y).with("ReduceSum", context.ints(axis));
  const Term slope = is_l1 ? x.call("Sign") : y;
  const Term is_there = norm > 0;
  context.set(0, choose(is_there, (flow - slope * along) / choose(is_there, norm, 1), 0));
}

// y = x / d^beta with d = bias + alpha * the average of squares in a window of channels.
void lrn_gradient(GradientContext& context) {
  const auto number = [&](std::string_view name) {
    return static_cast<double>(attribute<float>(context.op, name));
  };
  const Dims dims = context.static_dims(context.input(0));
  const std::int64_t size = attribute<std::int64_t>(context.op, "size");
  const std::int64_t before = (size - 1) / 2;
  const std::int64_t after = size - 1 - before;
  const auto window_average = [&](Term value, std::int64_t low, std::int64_t high) {
    const Term rows = value.with("Reshape", context.ints({dims[0], 1, dims[1], -1}));
    const Term average = rows.call("AveragePool", {{"kernel_shape", IntList{size, 1}},
                                                   {"pads", IntList{low, 0, high, 0}},
                                                   {"count_include_pad", std::int64_t{1}}});
    return term(context, context.reshape_like(average, context.input(0)));
  };
  const Term x = term(context, context.input(0));
  const Term flow = flow_of(context);
  const Term d = window_average(x * x, before, after) * number("alpha") + number("bias");
  const double beta = number("beta");
  const Term power = d.with("Pow", d.like(-beta));
  const Term shares = window_average(flow * x * power / d, after, before);
  context.set(0, flow * power - x * shares * (2 * number("alpha") * beta));
}

void dropout_gradient(GradientContext& context) {
  const Term flow = flow_of(context);
  if (!context.has_input(2)) return context.set(0, flow);
  IR_CHECK(context.op.outputs.size() == 2 && context.output(1).valid(),
           "differentiate asks Dropout for its mask");
  const Term kept = choose(term(context, context.output(1)), flow, 0);
  const Term ratio{&context, context.has_input(1) ? context.call("CastLike", {context.input(1), flow})
                                                  : context.number(0.5, flow)};
  context.set(0, choose(term(context, context.input(2)), kept / (1.0 - ratio), flow));
}

}  // namespace

std::span<const GradientRow> norm_gradients() {
  static constexpr GradientRow kRows[]{
      {"BatchNormalization", batch_normalization_gradient},
      {"InstanceNormalization", instance_normalization_gradient},
      {"GroupNormalization", group_normalization_gradient},
      {"LayerNormalization", layer_normalization_gradient},
      {"RMSNormalization", rms_normalization_gradient},
      {"LpNormalization", lp_normalization_gradient},
      {"MeanVarianceNormalization", mean_variance_normalization_gradient},
      {"LRN", lrn_gradient},
      {"Dropout", dropout_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
