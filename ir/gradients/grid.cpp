// GridSample in simpler ops: how its slopes along the grid change.
#include "ir/gradients/differentiate.h"
#include "ir/gradients/expansion.h"
#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

// There and back between two numbers.
Term reflected(Term x, double low, double high) {
  const double length = high - low;
  if (!(length > 0)) return x * 0.0 + low;
  const Term from_low = x - low;
  const Term turns = (from_low * (1 / (2 * length))).call("Floor");
  return (length - (from_low - turns * (2 * length) - length).call("Abs")) + low;
}

Term clipped(Term x, double low, double high) {
  return term(*x.builder, x.builder->call("Clip", {x, x.like(low), x.like(high)}));
}

Term weight_of(Term distance, bool cubic) {
  const Term d = distance.call("Abs");
  if (!cubic) return 1.0 - d;
  constexpr double kA = -0.75;
  const Term near = ((d * (kA + 2) - (kA + 3)) * d * d) + 1;
  const Term far = ((d * kA - 5 * kA) * d + 8 * kA) * d - 4 * kA;
  return choose(d > 1, far, near);
}

// The elements that each point is a sum of, [N, points, taps]: their positions and their weights.
struct Taps {
  Term index;
  Term weight;
};

// Along one axis of `size` elements, of coordinates from -1 to 1, [N, points].
Taps taps_along(GradientContext& context, Term given, std::int64_t size) {
  const bool cubic = attribute<std::string>(context.op, "mode") == "cubic";
  const bool align = attribute<std::int64_t>(context.op, "align_corners") != 0;
  const auto& padding = attribute<std::string>(context.op, "padding_mode");
  const auto count = static_cast<double>(size);
  const double low = align ? 0 : -0.5;
  const double high = count - 1 - low;
  Term x = align ? (given + 1) * ((count - 1) / 2) : ((given + 1) * count - 1) * 0.5;
  if (padding == "reflection") x = reflected(x, low, high);
  if (padding == "border") {
    const Term inside = clipped(x, 0, count - 1);
    x = choose(x < low, inside, choose(x > high, inside, x));
  }
  std::vector<double> steps;
  for (int k = cubic ? -1 : 0; k <= (cubic ? 2 : 1); ++k) steps.push_back(k);
  const Tensor known = Tensor::of<double>({std::ssize(steps)}, steps);
  const Term step =
      term(context, context.builder.constant(multiplied(known, 1, context.type(given).element)));
  x = x.with("Unsqueeze", context.ints({-1}));
  const Term at = x.call("Floor") + step;
  Term weight = weight_of(x - at, cubic);
  if (padding == "zeros") {
    weight = choose(at < 0, weight.like(0), weight);
    weight = choose(at > count - 1, weight.like(0), weight);
  }
  const Term inside = padding == "reflection" ? reflected(at, low, high).call("Floor") : at;
  const Term index = clipped(inside, 0, count - 1).cast(DataType::Int64);
  return {index, weight};
}

// Each of `a` with each of `b`.
Taps crossed(GradientContext& context, Taps a, Taps b, std::int64_t size_of_b, const Dims& points) {
  const auto outer = [&](Term x) { return x.with("Unsqueeze", context.ints({3})); };
  const auto inner = [&](Term x) { return x.with("Unsqueeze", context.ints({2})); };
  const ValueId flat = context.ints({points[0], points[1], -1});
  const Term rows{&context, context.call("Mul", {outer(a.index), context.ints({size_of_b})})};
  return {(rows + inner(b.index)).with("Reshape", flat),
          (outer(a.weight) * inner(b.weight)).with("Reshape", flat)};
}

Term sampled(GradientContext& context) {
  const Dims x = context.static_dims(context.input(0));
  const Dims grid = context.static_dims(context.input(1));
  const auto rank = std::ssize(x) - 2;
  const Dims points{grid[0], element_count(Dims(grid.begin() + 1, grid.end() - 1))};
  const Term all =
      term(context, context.input(1)).with("Reshape", context.ints({points[0], points[1], rank}));
  const auto along = [&](std::int64_t axis) {  // the grid names the last axis first
    const ValueId column = context.builder.constant(Tensor::scalar(rank - 1 - axis));
    return taps_along(context, all.with("Gather", column, {{"axis", std::int64_t{2}}}), x[axis + 2]);
  };
  Taps taps = along(0);
  for (std::int64_t axis = 1; axis < rank; ++axis)
    taps = crossed(context, taps, along(axis), x[axis + 2], points);
  const std::int64_t each = context.static_dims(taps.index)[2];
  const Term planes = term(context, context.input(0)).with("Reshape", context.ints({x[0], x[1], -1}));
  const Term places =
      taps.index.with("Reshape", context.ints({x[0], 1, -1})).with("Expand", context.ints({1, x[1], 1}));
  const Term elements = planes.with("GatherElements", places, {{"axis", std::int64_t{2}}})
                            .with("Reshape", context.ints({x[0], x[1], points[1], each}));
  const Term weights = taps.weight.with("CastLike", planes).with("Unsqueeze", context.ints({1}));
  const Term sums = (elements * weights).with("ReduceSum", context.ints({3}));
  return {&context, context.reshape_like(sums, context.input(2))};
}

std::vector<ValueId> grid_gradient(GradientContext& context) {
  const std::vector<FlowInto> flows{{sampled(context), context.input(2)}};
  const std::vector<ValueId> xs{context.input(1)};
  return differentiate(context.builder.graph(), flows, xs, {}, {});
}

void grid_sample_grid_gradient_gradient(GradientContext& context) {
  if (attribute<std::string>(context.op, "mode") == "nearest") return;
  differentiate_expansion(context, grid_gradient);
}

}  // namespace

std::span<const GradientRow> grid_gradients() {
  static constexpr GradientRow kRows[]{
      {"GridSampleGridGradient", grid_sample_grid_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
