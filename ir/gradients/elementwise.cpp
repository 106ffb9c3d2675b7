// Sums, products, powers and functions of one number. A derivative is written with ops of the forward kind;
// where an input was stretched, what flows back is summed over the stretched axes (sum_to_shape_of).
// Functions whose derivative is a function of their result (Exp, Sqrt, Sigmoid, Tanh) use the result that is
// there.
#include <numbers>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

// Sets the gradient of input i of a broadcasting op: the sum over the positions that the input was stretched
// to.
void set_stretched(GradientContext& context, std::size_t i, ValueId gradient) {
  context.set(i, context.sum_to_shape_of(gradient, context.input(i)));
}

// The flow times `slope`.
void set_scaled(GradientContext& context, ValueId slope) {
  context.set(0, context.call("Mul", {context.output_gradient(), slope}));
}

void abs_gradient(GradientContext& context) { set_scaled(context, context.call("Sign", {context.input(0)})); }

void add_gradient(GradientContext& context) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.wants(i)) set_stretched(context, i, context.output_gradient());
  }
}

void cast_gradient(GradientContext& context) {
  context.set(0, flow_of(context).cast(context.type(context.input(0)).element));
}

void cos_gradient(GradientContext& context) {
  set_scaled(context, context.call("Neg", {context.call("Sin", {context.input(0)})}));
}

void div_gradient(GradientContext& context) {
  const ValueId share = context.call("Div", {context.output_gradient(), context.input(1)});
  if (context.wants(0)) set_stretched(context, 0, share);
  if (context.wants(1)) {
    set_stretched(context, 1, context.call("Neg", {context.call("Mul", {share, context.output()})}));
  }
}

void erf_gradient(GradientContext& context) {
  const ValueId x = context.input(0);
  const ValueId bell = context.call("Exp", {context.call("Neg", {context.call("Mul", {x, x})})});
  set_scaled(context, context.call("Mul", {bell, context.number(2 * std::numbers::inv_sqrtpi, x)}));
}

void exp_gradient(GradientContext& context) { set_scaled(context, context.output()); }

void identity_gradient(GradientContext& context) { context.set(0, context.output_gradient()); }

void log_gradient(GradientContext& context) {
  context.set(0, context.call("Div", {context.output_gradient(), context.input(0)}));
}

void mean_gradient(GradientContext& context) {
  const auto count = static_cast<double>(context.op.inputs.size());
  const ValueId share =
      context.call("Div", {context.output_gradient(), context.number(count, context.output())});
  for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
    if (context.wants(i)) set_stretched(context, i, share);
  }
}

void mul_gradient(GradientContext& context) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (context.wants(i))
      set_stretched(context, i, context.call("Mul", {context.output_gradient(), context.input(1 - i)}));
  }
}

void neg_gradient(GradientContext& context) {
  context.set(0, context.call("Neg", {context.output_gradient()}));
}

void pow_gradient(GradientContext& context) {
  const ValueId x = context.input(0);
  ValueId exponent = context.input(1);
  const DataType element = context.type(x).element;
  if (context.type(exponent).element != element) {
    exponent = term(context, exponent).cast(element);
  }
  const ValueId flow = context.output_gradient();
  if (context.wants(0)) {
    // x^0 is 1 for every x: its slope is 0 also where x^-1 is infinite.
    const ValueId zero = context.number(0, x);
    const ValueId one_less = context.call("Sub", {exponent, context.number(1, x)});
    const ValueId slope = context.call("Mul", {exponent, context.call("Pow", {x, one_less})});
    const ValueId is_flat = context.call("Equal", {exponent, zero});
    set_stretched(context, 0, context.call("Mul", {flow, context.call("Where", {is_flat, zero, slope})}));
  }
  if (context.wants(1)) {
    // Where x is not positive there is no derivative; 0, as others choose too.
    const ValueId is_positive = context.call("Greater", {x, context.number(0, x)});
    const ValueId safe = context.call("Where", {is_positive, x, context.number(1, x)});
    const ValueId slope = context.call("Mul", {context.output(), context.call("Log", {safe})});
    set_stretched(context, 1, context.call("Mul", {flow, slope}));
  }
}

void reciprocal_gradient(GradientContext& context) {
  set_scaled(context, context.call("Neg", {context.call("Mul", {context.output(), context.output()})}));
}

void relu_gradient(GradientContext& context) {
  const ValueId zero = context.number(0, context.input(0));
  const ValueId passes = context.call("Greater", {context.input(0), zero});
  context.set(0, context.call("Where", {passes, context.output_gradient(), zero}));
}

void sigmoid_gradient(GradientContext& context) {
  const ValueId y = context.output();
  set_scaled(context, context.call("Mul", {y, context.call("Sub", {context.number(1, y), y})}));
}

void sin_gradient(GradientContext& context) { set_scaled(context, context.call("Cos", {context.input(0)})); }

void sqrt_gradient(GradientContext& context) {
  const ValueId y = context.output();
  context.set(0, context.call("Div", {context.output_gradient(), context.call("Add", {y, y})}));
}

void sub_gradient(GradientContext& context) {
  if (context.wants(0)) set_stretched(context, 0, context.output_gradient());
  if (context.wants(1)) set_stretched(context, 1, context.call("Neg", {context.output_gradient()}));
}

void sum_gradient(GradientContext& context) {
  for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
    if (context.wants(i)) set_stretched(context, i, context.output_gradient());
  }
}

void tanh_gradient(GradientContext& context) {
  const ValueId y = context.output();
  set_scaled(context, context.call("Sub", {context.number(1, y), context.call("Mul", {y, y})}));
}

void where_gradient(GradientContext& context) {
  const ValueId zero = context.number(0, context.output());
  const ValueId flow = context.output_gradient();
  if (context.wants(1)) set_stretched(context, 1, context.call("Where", {context.input(0), flow, zero}));
  if (context.wants(2)) set_stretched(context, 2, context.call("Where", {context.input(0), zero, flow}));
}

}  // namespace

std::span<const GradientRow> elementwise_gradients() {
  static constexpr GradientRow kRows[]{
      {"Abs", abs_gradient},       {"Neg", neg_gradient},           {"Reciprocal", reciprocal_gradient},
      {"Sqrt", sqrt_gradient},     {"Exp", exp_gradient},           {"Log", log_gradient},
      {"Erf", erf_gradient},       {"Sin", sin_gradient},           {"Cos", cos_gradient},
      {"Tanh", tanh_gradient},     {"Relu", relu_gradient},         {"Sigmoid", sigmoid_gradient},
      {"Add", add_gradient},       {"Sub", sub_gradient},           {"Mul", mul_gradient},
      {"Div", div_gradient},       {"Pow", pow_gradient},           {"Sum", sum_gradient},
      {"Mean", mean_gradient},     {"Where", where_gradient},       {"Cast", cast_gradient},
      {"CastLike", cast_gradient}, {"Identity", identity_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
