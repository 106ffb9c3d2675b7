// Ops that sample images between their elements: regions, resizing, grids of points. And Col2Im.
// Sampling is linear in the image, so the gradient is a private op that adds at the positions from which the
// forward op reads, and the gradient of that op is the forward op again. Where the forward op takes the
// largest element of a region, a private op Choice reads another tensor at the same positions. Regions,
// scales and sizes are taken as constants.
#include <algorithm>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/col2im.h"

namespace podium::ir {
namespace {

ValueId private_op(GradientContext& context, std::string_view name, std::vector<ValueId> inputs,
                   std::vector<Attribute> attributes) {
  return context.builder.ops("podium", name, std::move(inputs), 1, std::move(attributes))[0];
}

std::vector<Attribute> with_input_shape(const GradientContext& context) {
  std::vector<Attribute> attributes = context.op.attributes;
  attributes.push_back({"input_shape", context.static_dims(context.input(0))});
  return attributes;
}

std::vector<Attribute> without(std::string_view name, std::vector<Attribute> attributes) {
  std::erase_if(attributes, [&](const Attribute& attribute) { return attribute.name == name; });
  return attributes;
}

// A matrix of ones along the diagonal, of the type of `like`, in other dimensions of as many elements.
Term diagonal(GradientContext& context, std::int64_t rows, std::int64_t columns, Dims dims, ValueId like) {
  Tensor matrix(DataType::Double, {rows, columns});
  std::fill_n(matrix.data<double>(), matrix.size(), 0.0);
  for (std::int64_t i = 0; i < std::min(rows, columns); ++i) matrix.data<double>()[i * columns + i] = 1;
  const ValueId known = context.builder.constant(matrix.reshaped(std::move(dims)));
  return {&context, context.call("CastLike", {known, like})};
}

// The gradient of an op that is linear in input i: a private op of its other inputs and its attributes.
void hand_flow_to(GradientContext& context, std::string_view type, std::size_t i) {
  if (!context.wants(i)) return;
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[i] = context.output_gradient();
  context.set(i, private_op(context, type, std::move(inputs), context.op.attributes));
}

// Regions are taken as constants, here and in the next function: the inputs that describe them get no
// gradient.
void roi_align_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  context.set(0, private_op(context, "RoiAlignGradient",
                            {context.input(0), context.input(1), context.input(2), context.output_gradient()},
                            context.op.attributes));
}

// Averages are linear in X, and so is their gradient in the incoming one. The choice of the largest pixel
// does not change with X.
void roi_align_gradient_gradient(GradientContext& context) {
  if (attribute<std::string>(context.op, "mode") == "max") return hand_flow_to(context, "RoiAlignChoice", 3);
  if (!context.wants(3)) return;
  const std::vector<ValueId> inputs{context.output_gradient(), context.input(1), context.input(2)};
  context.set(3, context.call("RoiAlign", inputs, context.op.attributes));
}

void roi_align_choice_gradient(GradientContext& context) { hand_flow_to(context, "RoiAlignGradient", 3); }

// MaxRoiPoolGradient and MaxRoiPoolChoice are each other's gradient: one moves values from the regions to
// their largest elements, the other back.
void max_roi_pool_gradient_gradient(GradientContext& context) {
  hand_flow_to(context, "MaxRoiPoolChoice", 2);
}

void max_roi_pool_choice_gradient(GradientContext& context) {
  hand_flow_to(context, "MaxRoiPoolGradient", 2);
}

void max_roi_pool_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  context.set(
      0, private_op(context, "MaxRoiPoolGradient",
                    {context.input(0), context.input(1), context.output_gradient()}, context.op.attributes));
}

// So are scales and the region of interest.
void resize_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = context.output_gradient();
  context.set(0, private_op(context, "ResizeGradient", std::move(inputs), with_input_shape(context)));
}

// It is linear. Outside of a region there is nothing of X.
void resize_gradient_gradient(GradientContext& context) {
  if (!context.wants(0)) return;
  std::vector<ValueId> inputs = context.op.inputs;
  inputs[0] = context.output_gradient();
  context.set(0, context.call("Resize", std::move(inputs),
                              without("input_shape", without("extrapolation_value", context.op.attributes))));
}

void grid_sample_gradient(GradientContext& context) {
  const ValueId grid = context.input(1);
  const ValueId flow = context.output_gradient();
  if (context.wants(0)) {
    context.set(0, private_op(context, "GridSampleInputGradient", {grid, flow}, with_input_shape(context)));
  }
  if (context.wants(1)) {
    context.set(1, private_op(context, "GridSampleGridGradient", {context.input(0), grid, flow},
                              context.op.attributes));
  }
}

// The op is linear in the gradient that it takes. The gradient of the grid is that of a GridSample whose
// image is the incoming gradient.
void grid_sample_input_gradient_gradient(GradientContext& context) {
  const std::vector<Attribute> attributes = without("input_shape", context.op.attributes);
  const ValueId flow = context.output_gradient();
  const ValueId grid = context.input(0);
  if (context.wants(0)) {
    context.set(0, private_op(context, "GridSampleGridGradient", {flow, grid, context.input(1)}, attributes));
  }
  if (context.wants(1)) context.set(1, context.call("GridSample", {flow, grid}, attributes));
}

// The grid of no movement has the points that theta is multiplied with.
void affine_grid_gradient(GradientContext& context) {
  const Dims grid = context.static_dims(context.output());
  const std::int64_t rank = grid.back();
  Dims size{1, 1};
  size.insert(size.end(), grid.begin() + 1, grid.end() - 1);
  const Term flow = flow_of(context);
  const Term identity = diagonal(context, rank, rank + 1, {1, rank, rank + 1}, flow);
  const Term points = identity.with("AffineGrid", context.ints(size), context.op.attributes)
                          .with("Reshape", context.ints({1, -1, rank}));
  const ValueId ones =
      context.call("Expand", {context.number(1, flow), context.ints({1, element_count(size), 1})});
  const ValueId factors = context.call("Concat", {points, ones}, {{"axis", std::int64_t{2}}});
  const Term rows =
      flow.with("Reshape", context.ints({grid[0], -1, rank})).call("Transpose", {{"perm", IntList{0, 2, 1}}});
  context.set(0, rows.with("MatMul", factors));
}

// Each place of the block is a channel of a convolution that picks it out.
void col2im_gradient(GradientContext& context) {
  const Dims columns = context.static_dims(context.input(0));
  const Dims image_shape = context.known(1).to_ints();
  const TypedOp op(context.builder.graph(), context.op);
  const Dims block = col2im_geometry(op, image_shape, context.known(2).to_ints()).block;
  const std::int64_t places = element_count(block);
  Dims image{-1, 1};
  image.insert(image.end(), image_shape.begin(), image_shape.end());
  Dims window{places, 1};
  window.insert(window.end(), block.begin(), block.end());
  const Term flow = flow_of(context).with("Reshape", context.ints(image));
  const Term picks = diagonal(context, places, places, window, flow);
  const Term picked = flow.with("Conv", picks, context.op.attributes);
  context.set(0, picked.with("Reshape", context.ints(columns)));
}

}  // namespace

std::span<const GradientRow> resample_gradients() {
  static constexpr GradientRow kRows[]{
      {"Col2Im", col2im_gradient},
      {"MaxRoiPool", max_roi_pool_gradient},
      {"Resize", resize_gradient},
      {"GridSample", grid_sample_gradient},
      {"AffineGrid", affine_grid_gradient},
      {"RoiAlign", roi_align_gradient},
      {"GridSampleInputGradient", grid_sample_input_gradient_gradient, "podium"},
      {"MaxRoiPoolChoice", max_roi_pool_choice_gradient, "podium"},
      {"MaxRoiPoolGradient", max_roi_pool_gradient_gradient, "podium"},
      {"ResizeGradient", resize_gradient_gradient, "podium"},
      {"RoiAlignChoice", roi_align_choice_gradient, "podium"},
      {"RoiAlignGradient", roi_align_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
