// Functions of one number and what neural networks bend their values with.
// Most builders are one line of mathematics in Terms: scale (the flow times the slope) or gate (the flow
// where a condition holds). Slopes are written with the output where that saves work (tan, elu). Clip, Max
// and Min hand what flows to the operand that gave each element, the first of equal ones.
#include <cmath>
#include <numbers>

#include "ir/gradients/families.h"
#include "ir/gradients/terms.h"

namespace podium::ir {
namespace {

double number_of(const GradientContext& context, std::string_view attribute_name) {
  return static_cast<double>(attribute<float>(context.op, attribute_name));
}

// The flow times the slope.
void scale(GradientContext& context, Term slope) { context.set(0, flow_of(context) * slope); }

// The flow where `passes` holds, `elsewhere` times it where not.
void gate(GradientContext& context, Term passes, double elsewhere = 0) {
  const Term flow = flow_of(context);
  context.set(0, choose(passes, flow, elsewhere == 0 ? flow.like(0) : flow * elsewhere));
}

// The slope of x * sigmoid(alpha * x).
Term swish_slope(Term x, double alpha) {
  const Term inner = x * alpha;
  const Term s = inner.call("Sigmoid");
  return s + inner * s * (1.0 - s);
}

// The slope of Phi(x) * x, Phi being the normal distribution.
Term gelu_slope(Term x) {
  const Term below = ((x * (1 / std::numbers::sqrt2)).call("Erf") + 1.0) * 0.5;
  const Term bell = (x * x * -0.5).call("Exp") * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
  return below + x * bell;
}

// The slope of ONNX's form of Gelu with tanh.
Term gelu_tanh_slope(Term x) {
  constexpr double kCubic = 0.044715;
  const double scale = std::sqrt(2 * std::numbers::inv_pi);
  const Term t = ((x + x * x * x * kCubic) * scale).call("Tanh");
  const Term inner_slope = (x * x * (3 * kCubic) + 1.0) * scale;
  return (t + 1.0) * 0.5 + x * (1.0 - t * t) * inner_slope * 0.5;
}

void tan_gradient(GradientContext& context) {
  const Term y = term(context, context.output());
  scale(context, y * y + 1.0);
}

void asin_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  context.set(0, flow_of(context) / (1.0 - x * x).call("Sqrt"));
}

void acos_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  context.set(0, -(flow_of(context) / (1.0 - x * x).call("Sqrt")));
}

void atan_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  context.set(0, flow_of(context) / (x * x + 1.0));
}

void sinh_gradient(GradientContext& context) { scale(context, term(context, context.input(0)).call("Cosh")); }

void cosh_gradient(GradientContext& context) { scale(context, term(context, context.input(0)).call("Sinh")); }

void asinh_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  context.set(0, flow_of(context) / (x * x + 1.0).call("Sqrt"));
}

void acosh_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  context.set(0, flow_of(context) / (x * x - 1.0).call("Sqrt"));
}

void atanh_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  context.set(0, flow_of(context) / (1.0 - x * x));
}

// The gradient of a clipped element goes to the limit that clipped it: y = min(max(x, low), high), also where
// low > high.
void clip_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  Term flow = flow_of(context);
  const auto cut = [&](std::size_t i, Term is_cut) {
    if (context.wants(i)) context.set(i, context.sum_to_shape_of(choose(is_cut, flow, 0), context.input(i)));
    flow = choose(is_cut, flow.like(0), flow);
  };
  if (context.has_input(2)) {
    const Term raised = context.has_input(1) ? x.with("Max", context.input(1)) : x;
    cut(2, raised > term(context, context.input(2)));
  }
  if (context.has_input(1)) cut(1, x < term(context, context.input(1)));
  context.set(0, flow);
}

void leaky_relu_gradient(GradientContext& context) {
  gate(context, term(context, context.input(0)) > 0, number_of(context, "alpha"));
}

void prelu_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Term slope = term(context, context.input(1));
  const Term flow = flow_of(context);
  const Term is_negative = x < 0;
  if (context.wants(0)) context.set(0, choose(is_negative, flow * slope, flow));
  if (context.wants(1)) context.set(1, context.sum_to_shape_of(choose(is_negative, flow * x, 0), slope));
}

void hard_sigmoid_gradient(GradientContext& context) {
  const double alpha = number_of(context, "alpha");
  const Term y = term(context, context.output());
  const Term slope = choose(y > 0, y.like(alpha), 0);
  scale(context, choose(y < 1, slope, 0));
}

void hard_swish_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Term middle = x * (1.0 / 3) + 0.5;
  scale(context, choose(x < -3, x.like(0), choose(x > 3, x.like(1), middle)));
}

void thresholded_relu_gradient(GradientContext& context) {
  gate(context, term(context, context.input(0)) > number_of(context, "alpha"));
}

void elu_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Term y = term(context, context.output());
  scale(context, choose(x < 0, y + number_of(context, "alpha"), 1));
}

void selu_gradient(GradientContext& context) {
  const double gamma = number_of(context, "gamma");
  const Term x = term(context, context.input(0));
  const Term y = term(context, context.output());
  scale(context, choose(x > 0, x.like(gamma), y + gamma * number_of(context, "alpha")));
}

void celu_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  scale(context, choose(x < 0, (x * (1 / number_of(context, "alpha"))).call("Exp"), 1));
}

void softplus_gradient(GradientContext& context) {
  scale(context, term(context, context.input(0)).call("Sigmoid"));
}

void softsign_gradient(GradientContext& context) {
  const Term bound = term(context, context.input(0)).call("Abs") + 1.0;
  context.set(0, flow_of(context) / (bound * bound));
}

void gelu_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const bool by_tanh = attribute<std::string>(context.op, "approximate") == "tanh";
  scale(context, by_tanh ? gelu_tanh_slope(x) : gelu_slope(x));
}

void mish_gradient(GradientContext& context) {
  const Term x = term(context, context.input(0));
  const Term t = x.call("Softplus").call("Tanh");
  scale(context, t + x * (1.0 - t * t) * x.call("Sigmoid"));
}

void swish_gradient(GradientContext& context) {
  scale(context, swish_slope(term(context, context.input(0)), number_of(context, "alpha")));
}

void swiglu_gradient(GradientContext& context) {
  const double alpha = number_of(context, "alpha");
  const Term gate = term(context, context.input(0));
  const Term flow = flow_of(context);
  if (context.wants(0)) context.set(0, flow * term(context, context.input(1)) * swish_slope(gate, alpha));
  if (context.wants(1)) context.set(1, flow * gate * (gate * alpha).call("Sigmoid"));
}

void shrink_gradient(GradientContext& context) {
  gate(context, term(context, context.input(0)).call("Abs") > number_of(context, "lambd"));
}

// Each element's flow goes to the first input that gave it.
void extreme_gradient(GradientContext& context) {
  if (attribute_if<std::int64_t>(context.op, kPassesGradient) != nullptr) {
    return context.set(0, context.output_gradient());
  }
  const Term y = term(context, context.output());
  Term rest = flow_of(context);
  for (std::size_t i = 0; i < context.op.inputs.size(); ++i) {
    const Term gave = term(context, context.input(i)).with("Equal", y);
    if (context.wants(i)) context.set(i, context.sum_to_shape_of(choose(gave, rest, 0), context.input(i)));
    rest = choose(gave, rest.like(0), rest);
  }
}

// a mod b = a - k * b with a whole number k.
void mod_gradient(GradientContext& context) {
  const Term flow = flow_of(context);
  if (context.wants(0)) context.set(0, context.sum_to_shape_of(flow, context.input(0)));
  if (context.wants(1)) {
    const Term b = term(context, context.input(1));
    const Term k = ((term(context, context.input(0)) - term(context, context.output())) / b).call("Round");
    context.set(1, context.sum_to_shape_of(-(flow * k), b));
  }
}

}  // namespace

std::span<const GradientRow> activation_gradients() {
  static constexpr GradientRow kRows[]{
      {"Tan", tan_gradient},
      {"Asin", asin_gradient},
      {"Acos", acos_gradient},
      {"Atan", atan_gradient},
      {"Sinh", sinh_gradient},
      {"Cosh", cosh_gradient},
      {"Asinh", asinh_gradient},
      {"Acosh", acosh_gradient},
      {"Atanh", atanh_gradient},
      {"Clip", clip_gradient},
      {"LeakyRelu", leaky_relu_gradient},
      {"HardSigmoid", hard_sigmoid_gradient},
      {"HardSwish", hard_swish_gradient},
      {"ThresholdedRelu", thresholded_relu_gradient},
      {"Elu", elu_gradient},
      {"Selu", selu_gradient},
      {"Celu", celu_gradient},
      {"Softplus", softplus_gradient},
      {"Softsign", softsign_gradient},
      {"Gelu", gelu_gradient},
      {"Mish", mish_gradient},
      {"Swish", swish_gradient},
      {"QuickGelu", swish_gradient, "com.microsoft"},
      {"SwiGLU", swiglu_gradient},
      {"Shrink", shrink_gradient},
      {"Mod", mod_gradient},
      {"PRelu", prelu_gradient},
      {"Max", extreme_gradient},
      {"Min", extreme_gradient},
  };
  return kRows;
}

}  // namespace podium::ir
