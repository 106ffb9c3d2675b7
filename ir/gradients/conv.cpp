// Convolutions. With respect to its input a Conv has a ConvTranspose as gradient and the other way round;
// with respect to the weights both have the same op. So gradients of gradients stay among these three.
#include <numeric>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"
#include "ir/ops/window.h"

namespace podium::ir {
namespace {

// A convolution of X by W to Y. Of a transposed one Y is the op's input and X its output.
struct Convolution {
  Window window;  // from X to Y
  std::int64_t group;

  std::vector<Attribute> attributes() const {
    std::vector<Attribute> all = window_attributes(window);
    all.push_back({"group", group});
    return all;
  }

  // There may be more windows than Y has elements: a transposed convolution adds zeros where it is told to.
  ValueId y_of(GradientContext& context, ValueId x, ValueId w) const {
    const ValueId y = context.call("Conv", {x, w}, attributes());
    Dims axes(window.rank());
    std::iota(axes.begin(), axes.end(), std::int64_t{2});
    const Dims found = context.static_dims(y);
    if (std::equal(found.begin() + 2, found.end(), window.output.begin())) return y;
    const Dims starts(window.rank(), 0);
    return context.call("Slice", {y, context.ints(starts), context.ints(window.output), context.ints(axes)});
  }

  ValueId x_of(GradientContext& context, ValueId y, ValueId w) const {
    IntList unseen;  // elements at X's end that no window reaches
    for (std::size_t i = 0; i < window.rank(); ++i) {
      const std::int64_t reach = (window.output[i] - 1) * window.strides[i] + window.extent(i);
      unseen.push_back(std::max<std::int64_t>(window.pads_begin[i] + window.input[i] - reach, 0));
    }
    std::vector<Attribute> all = attributes();
    all.push_back({"output_padding", unseen});
    return context.call("ConvTranspose", {y, w}, std::move(all));
  }

  ValueId w_of(GradientContext& context, ValueId x, ValueId y) const {
    return context.builder.ops("podium", "ConvWeightGradient", {x, y}, 1, attributes())[0];
  }
};

Window reversed(Window window) {
  std::swap(window.input, window.output);
  return window;
}

// The bias gradient: the sum over each channel; 0 for numbers of the bias beyond the channels.
void set_bias_gradient(GradientContext& context, Term flow) {
  if (!context.wants(2)) return;
  const Dims dims = context.static_dims(flow);
  Dims axes(dims.size() - 1);
  std::iota(axes.begin(), axes.end(), std::int64_t{1});
  axes[0] = 0;
  const Term sum = flow.with("ReduceSum", context.ints(axes), {{"keepdims", std::int64_t{0}}});
  const std::int64_t unused = context.static_dims(context.input(2))[0] - dims[1];
  context.set(2, unused == 0 ? sum : sum.with("Pad", context.ints({0, unused})));
}

std::int64_t group_of(const GradientContext& context) { return attribute<std::int64_t>(context.op, "group"); }

Term zeros(GradientContext& context, ValueId like, Dims dims) {
  return {&context, context.call("Expand", {context.number(0, like), context.ints(dims)})};
}

// The gradient of z from that of silu(z).
Term through_silu(Term flow, Term z) {
  const Term s = z.call("Sigmoid");
  return flow * (s + z * s * (1.0 - s));
}

void conv_gradient(GradientContext& context) {
  const TypedOp op(context.builder.graph(), context.op);
  const Convolution conv{
      conv_window(op, context.static_dims(context.input(0)), context.static_dims(context.input(1))),
      group_of(context)};
  const Term flow = flow_of(context);
  if (context.wants(0)) context.set(0, conv.x_of(context, flow, context.input(1)));
  if (context.wants(1)) context.set(1, conv.w_of(context, context.input(0), flow));
  set_bias_gradient(context, flow);
}

void conv_transpose_gradient(GradientContext& context) {
  const TypedOp op(context.builder.graph(), context.op);
  const Window window =
      conv_transpose_window(op, context.static_dims(context.input(0)), context.static_dims(context.input(1)));
  const Convolution conv{reversed(window), group_of(context)};
  const Term flow = flow_of(context);
  if (context.wants(0)) context.set(0, conv.y_of(context, flow, context.input(1)));
  if (context.wants(1)) context.set(1, conv.w_of(context, flow, context.input(0)));
  set_bias_gradient(context, flow);
}

void conv_weight_gradient_gradient(GradientContext& context) {
  const TypedOp op(context.builder.graph(), context.op);
  const auto spatial = [&](std::size_t i) {
    const Dims dims = context.static_dims(context.input(i));
    return Dims(dims.begin() + 2, dims.end());
  };
  const Convolution conv{given_window(op, spatial(0), spatial(1)), group_of(context)};
  if (context.wants(0)) context.set(0, conv.x_of(context, context.input(1), context.output_gradient()));
  if (context.wants(1)) context.set(1, conv.y_of(context, context.input(0), context.output_gradient()));
}

// Each channel with its past in front of it, convolved and bent; the end of that row is the state handed on.
void causal_conv_gradient(GradientContext& context) {
  const ValueId x = context.input(0);
  const ValueId w = context.input(1);
  const Dims dims = context.static_dims(x);
  const std::int64_t state = context.static_dims(w)[2] - 1;
  const ValueId past = context.has_input(3) ? context.input(3) : zeros(context, x, {dims[0], dims[1], state});
  const ValueId row = context.call("Concat", {past, x}, {{"axis", std::int64_t{2}}});
  const Convolution conv{{.input = {state + dims[2]},
                          .kernel = {state + 1},
                          .strides = {1},
                          .dilations = {1},
                          .pads_begin = {0},
                          .pads_end = {0},
                          .output = {dims[2]}},
                         dims[1]};
  const bool flows = context.output_gradient().valid();
  Term flow{&context, flows ? context.output_gradient() : context.filled_like(x, 0)};
  if (flows && attribute<std::string>(context.op, "activation") != "none") {
    std::vector<ValueId> operands{row, w};
    if (context.has_input(2)) operands.push_back(context.input(2));
    flow = through_silu(flow, {&context, context.call("Conv", operands, conv.attributes())});
  }
  Term into_row{&context, conv.x_of(context, flow, w)};
  if (context.op.outputs.size() > 1 && context.output_gradient(1).valid()) {
    into_row = into_row +
               term(context, context.output_gradient(1)).with("Pad", context.ints({0, 0, dims[2], 0, 0, 0}));
  }
  const std::vector<ValueId> parts = context.builder.ops(
      "", "Split", {into_row, context.ints({state, dims[2]})}, 2, {{"axis", std::int64_t{2}}});
  context.set(0, parts[1]);
  if (context.wants(1)) context.set(1, conv.w_of(context, row, flow));
  set_bias_gradient(context, flow);
  if (context.wants(3)) context.set(3, parts[0]);
}

}  // namespace

std::span<const GradientRow> conv_gradients() {
  static constexpr GradientRow kRows[]{
      {"Conv", conv_gradient},
      {"ConvTranspose", conv_transpose_gradient},
      {"CausalConvWithState", causal_conv_gradient},
      {"ConvWeightGradient", conv_weight_gradient_gradient, "podium"},
  };
  return kRows;
}

}  // namespace podium::ir
