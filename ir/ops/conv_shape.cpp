#include "ir/ops/conv_shape.h"

namespace podium::ir {
namespace {

ConvShape sizes_of(const TypedOp& op, Window window) {
  ConvShape shape{.window = std::move(window)};
  shape.batch = op.dims(0)[0];
  shape.group = op.get_int("group");
  shape.kernel_size = element_count(shape.window.kernel);
  shape.in_size = element_count(shape.window.input);
  shape.out_size = element_count(shape.window.output);
  return shape;
}

}  // namespace

ConvShape conv_shape(const TypedOp& op, std::size_t w) {
  ConvShape shape = sizes_of(op, conv_window(op, op.dims(0), op.dims(w)));
  shape.in_channels = op.dims(w)[1];
  shape.out_channels = op.dims(w)[0] / shape.group;
  return shape;
}

ConvShape conv_transpose_shape(const TypedOp& op) {
  ConvShape shape = sizes_of(op, conv_transpose_window(op, op.dims(0), op.dims(1)));
  shape.transposed = true;
  shape.in_channels = op.dims(1)[0] / shape.group;
  shape.out_channels = op.dims(1)[1];
  return shape;
}

ConvShape weight_gradient_shape(const TypedOp& op) {
  const Dims& x = op.dims(0);
  const Dims& flow = op.dims(1);
  ConvShape shape = sizes_of(op, given_window(op, {x.begin() + 2, x.end()}, {flow.begin() + 2, flow.end()}));
  shape.in_channels = x[1] / shape.group;
  shape.out_channels = flow[1] / shape.group;
  return shape;
}

}  // namespace podium::ir
