// DeformConv as what it is made of: GridSample at the points that the offsets name, then a product.
//   offsets -> grid -> samples of X -> x mask -> columns;  Y = W columns + B
// Images of one offset group stand for batches. Offsets become points of a grid in GridSample's coordinates
// (2 point + 1) / size - 1, last axis first. Backwards: W and B from the columns, the mask from the samples,
// X and the grid by GridSample's own gradients, the offsets from the grid.
#include <numeric>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/window.h"

namespace podium::ir {
namespace {

// Images of one offset group stand for batches: B = N * offset groups. Taps are the elements of the kernel,
// places those of Y.
struct Deformation {
  GradientContext& context;
  Window window;
  std::int64_t batch, channels, groups, offset_groups;

  std::int64_t rank() const { return window.rank(); }
  std::int64_t taps() const { return element_count(window.kernel); }
  std::int64_t places() const { return element_count(window.output); }
  std::int64_t images() const { return batch * offset_groups; }
  Term reshaped(Term value, const Dims& dims) const { return value.with("Reshape", context.ints(dims)); }

  /// [B, channels of one group, ...]
  Term by_offset_group(Term value, Dims rest) const {
    rest.insert(rest.begin(), {images(), channels / offset_groups});
    return reshaped(value, rest);
  }
  // GridSample's output and grid have as many axes as X.
  Dims sampled_dims() const {
    if (rank() == 1) return {taps() * places()};
    Dims dims(window.rank(), 1);
    dims[0] = taps();
    dims[1] = places();
    return dims;
  }
  /// [B, rank, taps, places]: the last axis of X first, as in a grid.
  Term reversed_axes(Term value) const {
    Dims order(window.rank());
    std::iota(order.rbegin(), order.rend(), std::int64_t{0});
    return value.with("Gather", context.ints(order), {{"axis", std::int64_t{1}}});
  }
  Term known(const Dims& dims, const std::vector<double>& numbers) const {
    const ValueId tensor = context.builder.constant(Tensor::of<double>(dims, numbers));
    return {&context, context.call("CastLike", {tensor, context.input(0)})};
  }
};

// [1, rank, taps, places]: (2 * point + 1) / size - 1 of every place without an offset.
Term resting_points(const Deformation& d) {
  std::vector<double> points;
  for (std::size_t axis = 0; axis < d.window.rank(); ++axis) {
    std::int64_t inner_taps = 1;
    std::int64_t inner_places = 1;
    for (std::size_t i = axis + 1; i < d.window.rank(); ++i) {
      inner_taps *= d.window.kernel[i];
      inner_places *= d.window.output[i];
    }
    for (std::int64_t tap = 0; tap < d.taps(); ++tap) {
      for (std::int64_t place = 0; place < d.places(); ++place) {
        const std::int64_t point = place / inner_places % d.window.output[axis] * d.window.strides[axis] -
                                   d.window.pads_begin[axis] +
                                   tap / inner_taps % d.window.kernel[axis] * d.window.dilations[axis];
        points.push_back(static_cast<double>(2 * point + 1) / static_cast<double>(d.window.input[axis]) - 1);
      }
    }
  }
  return d.known({1, d.rank(), d.taps(), d.places()}, points);
}

// How far a point of the grid moves with its offset, per axis.
Term steps(const Deformation& d) {
  std::vector<double> numbers;
  for (std::int64_t size : d.window.input) numbers.push_back(2 / static_cast<double>(size));
  return d.known({1, d.rank(), 1, 1}, numbers);
}

Term grid_of(const Deformation& d) {
  const Term offsets =
      d.reshaped(term(d.context, d.context.input(2)), {d.images(), d.taps(), d.rank(), d.places()});
  const Term moved =
      offsets.call("Transpose", {{"perm", IntList{0, 2, 1, 3}}}) * steps(d) + resting_points(d);
  Dims dims = d.sampled_dims();
  dims.insert(dims.begin(), d.images());
  dims.push_back(d.rank());
  return d.reshaped(d.reversed_axes(moved).call("Transpose", {{"perm", IntList{0, 2, 3, 1}}}), dims);
}

// Back from the grid's gradient to the offsets'.
Term offsets_of(const Deformation& d, Term grid) {
  const Term points = d.reshaped(grid, {d.images(), d.taps(), d.places(), d.rank()});
  const Term by_axis = d.reversed_axes(points.call("Transpose", {{"perm", IntList{0, 3, 1, 2}}})) * steps(d);
  const Term by_tap = by_axis.call("Transpose", {{"perm", IntList{0, 2, 1, 3}}});
  return {&d.context, d.context.reshape_like(by_tap, d.context.input(2))};
}

// [N, groups, rows, columns] with the last two swapped.
Term swapped(Term matrices) { return matrices.call("Transpose", {{"perm", IntList{0, 1, 3, 2}}}); }

// The gradients of X and the offsets from that of the sampled elements.
void set_sampling_gradients(const Deformation& d, Term x, Term grid, Term flow) {
  GradientContext& context = d.context;
  if (context.wants(0)) {
    const std::vector<ValueId> found = context.builder.ops("podium", "GridSampleInputGradient", {grid, flow},
                                                           1, {{"input_shape", context.static_dims(x)}});
    context.set(0, context.reshape_like(found[0], context.input(0)));
  }
  if (context.wants(2)) {
    const std::vector<ValueId> found =
        context.builder.ops("podium", "GridSampleGridGradient", {x, grid, flow}, 1);
    context.set(2, offsets_of(d, {&context, found[0]}));
  }
}

void deform_conv_gradient(GradientContext& context) {
  const Dims dims = context.static_dims(context.input(0));
  const Dims weights = context.static_dims(context.input(1));
  const Deformation d{context,
                      conv_window(TypedOp(context.builder.graph(), context.op), dims, weights),
                      dims[0],
                      dims[1],
                      attribute<std::int64_t>(context.op, "group"),
                      attribute<std::int64_t>(context.op, "offset_group")};
  const Term x = d.by_offset_group(term(context, context.input(0)), d.window.input);
  const Term grid = grid_of(d);
  const Term sampled = d.by_offset_group(x.with("GridSample", grid), {d.taps(), d.places()});
  const bool has_mask = context.has_input(4);
  const Term mask =
      has_mask ? d.reshaped(term(context, context.input(4)), {d.images(), 1, d.taps(), d.places()}) : sampled;
  const std::int64_t outputs = weights[0] / d.groups;
  const std::int64_t depth = weights[1] * d.taps();
  const Term flow = d.reshaped(flow_of(context), {d.batch, d.groups, outputs, d.places()});
  if (context.wants(1)) {
    const Term columns =
        d.reshaped(has_mask ? sampled * mask : sampled, {d.batch, d.groups, depth, d.places()});
    const Term sum = flow.with("MatMul", swapped(columns)).with("ReduceSum", context.ints({0}));
    context.set(1, context.reshape_like(sum, context.input(1)));
  }
  if (context.wants(3)) {
    const Term sum = flow.with("ReduceSum", context.ints({0, 3}));
    context.set(3, context.reshape_like(sum, context.input(3)));
  }
  const Term matrices = d.reshaped(term(context, context.input(1)), {1, d.groups, outputs, depth});
  const Term columns = d.by_offset_group(swapped(matrices).with("MatMul", flow), {d.taps(), d.places()});
  if (has_mask && context.wants(4)) {
    const Term sum = (columns * sampled).with("ReduceSum", context.ints({1}));
    context.set(4, context.reshape_like(sum, context.input(4)));
  }
  set_sampling_gradients(d, x, grid,
                         d.by_offset_group(has_mask ? columns * mask : columns, d.sampled_dims()));
}

}  // namespace

std::span<const GradientRow> deform_gradients() {
  static constexpr GradientRow kRows[]{
      {"DeformConv", deform_conv_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
