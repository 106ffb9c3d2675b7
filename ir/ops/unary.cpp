// Ops that compute each element of the output from one element of the input.
// Rows by kind: unary (one operation per element), function (eight), test (gives bools). Ops whose derivative
// is 0 wherever it exists say so in place of a gradient.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/gradients.h"

namespace podium::ir {
namespace {

constexpr TypeSet kSignedFloat8s{DataType::Float8E4M3FN, DataType::Float8E4M3FNUZ, DataType::Float8E5M2,
                                 DataType::Float8E5M2FNUZ};

OpSpec unary(std::string_view name, int since, TypeSet types, std::vector<AttributeSpec> attributes = {}) {
  return {.name = name,
          .since = since,
          .inputs = {{"X"}},
          .outputs = {{"Y"}},
          .types = {{'T', types}},
          .attributes = std::move(attributes),
          .infer = same_as_input,
          .work = work_per_element<1>};
}

// A function of several floating point operations.
OpSpec function(std::string_view name, int since, std::vector<AttributeSpec> attributes = {}) {
  OpSpec spec = unary(name, since, kFloats, std::move(attributes));
  spec.work = work_per_element<8>;
  return spec;
}

void bool_like_input(InferContext& context) {
  Type type = context.input(0);
  type.element = DataType::Bool;
  context.set_output(0, std::move(type));
}

OpSpec test(std::string_view name, int since, std::vector<AttributeSpec> attributes = {}) {
  return {.name = name,
          .since = since,
          .inputs = {{"X", 'A'}},
          .outputs = {{"Y", 'B'}},
          .types = {{'A', kFloats | kSignedFloat8s}, {'B', kBool}},
          .attributes = std::move(attributes),
          .infer = bool_like_input,
          .work = work_per_element<1>,
          .no_gradient = "its output is not a floating point number"};
}

void infer_clip(InferContext& context) {
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!context.has_rank(i)) continue;
    const std::int64_t count = context.input(i).element_count();
    if (count != 1 && count != kUnknown) {
      throw Error("{} is {}, a scalar needed", i == 1 ? "min" : "max", to_string(context.input(i)));
    }
  }
  same_as_input(context);
}

OpSpec clip() {
  OpSpec spec = unary("Clip", 13, kNumeric);
  spec.inputs = {{"input"}, {"min", 'T', Formal::Optional}, {"max", 'T', Formal::Optional}};
  spec.infer = infer_clip;
  return spec;
}

// A dimension that one of the inputs knows is known.
void infer_swiglu(InferContext& context) {
  if (!context.has_rank(0) || !context.has_rank(1)) {
    context.set_output(0, context.input(context.has_rank(0) ? 0 : 1));
    return;
  }
  Dims dims = context.dims(0);
  const Dims& value = context.dims(1);
  bool fits = dims.size() == value.size();
  for (std::size_t i = 0; fits && i < dims.size(); ++i) {
    if (dims[i] == kUnknown) dims[i] = value[i];
    fits = value[i] == kUnknown || value[i] == dims[i];
  }
  if (!fits)
    throw Error("A is {} and B is {}, equal shapes needed", to_string(context.dims(0)), to_string(value));
  context.set_output(0, context.element(0), std::move(dims));
}

OpSpec swiglu() {
  OpSpec spec = function("SwiGLU", 28, {with_default("alpha", 1.0F)});
  spec.inputs = {{"A"}, {"B"}};
  spec.infer = infer_swiglu;
  return spec;
}

OpSpec shrink() {
  return unary("Shrink", 9, kNumeric, {with_default("bias", 0.0F), with_default("lambd", 0.5F)});
}

OpSpec without_gradient(OpSpec spec, std::string_view why) {
  spec.no_gradient = why;
  return spec;
}

std::vector<OpSpec> math_rows() {
  return {
      differentiable(unary("Abs", 13, kNumeric), abs_gradient),
      differentiable(unary("Neg", 13, kFloats | kSignedInts), neg_gradient),
      without_gradient(unary("Sign", 13, kNumeric), kFlat),
      differentiable(unary("Reciprocal", 13, kFloats), reciprocal_gradient),
      differentiable(unary("Sqrt", 13, kFloats), sqrt_gradient),
      without_gradient(unary("Floor", 13, kFloats), kFlat),
      without_gradient(unary("Ceil", 13, kFloats), kFlat),
      without_gradient(unary("Round", 22, kFloats), kFlat),
      differentiable(function("Exp", 13), exp_gradient),
      differentiable(function("Log", 13), log_gradient),
      differentiable(unary("Erf", 13, kNumeric), erf_gradient),
      differentiable(function("Sin", 22), sin_gradient),
      differentiable(function("Cos", 22), cos_gradient),
      differentiable(function("Tan", 22), tan_gradient),
      differentiable(function("Asin", 22), asin_gradient),
      differentiable(function("Acos", 22), acos_gradient),
      differentiable(function("Atan", 22), atan_gradient),
      differentiable(function("Sinh", 22), sinh_gradient),
      differentiable(function("Cosh", 22), cosh_gradient),
      differentiable(function("Tanh", 13), tanh_gradient),
      differentiable(function("Asinh", 22), asinh_gradient),
      differentiable(function("Acosh", 22), acosh_gradient),
      differentiable(function("Atanh", 22), atanh_gradient),
      differentiable(clip(), clip_gradient),
      without_gradient(unary("Not", 1, kBool), "its input is not a number"),
      without_gradient(unary("BitwiseNot", 18, kInts), "its input is an integer"),
      test("IsNaN", 20),
      test("IsInf", 20, {with_default("detect_negative", 1), with_default("detect_positive", 1)}),
  };
}

OpSpec in_domain(std::string_view domain, OpSpec row) {
  row.domain = domain;
  return row;
}

std::vector<OpSpec> activation_rows() {
  return {
      differentiable(unary("Relu", 14, kFloats | kSignedInts), relu_gradient),
      differentiable(unary("LeakyRelu", 16, kFloats, {with_default("alpha", 0.01F)}), leaky_relu_gradient),
      differentiable(
          unary("HardSigmoid", 22, kFloats, {with_default("alpha", 0.2F), with_default("beta", 0.5F)}),
          hard_sigmoid_gradient),
      differentiable(unary("HardSwish", 22, kFloats), hard_swish_gradient),
      differentiable(unary("ThresholdedRelu", 22, kFloats, {with_default("alpha", 1.0F)}),
                     thresholded_relu_gradient),
      differentiable(function("Sigmoid", 13), sigmoid_gradient),
      differentiable(function("Elu", 22, {with_default("alpha", 1.0F)}), elu_gradient),
      differentiable(
          function("Selu", 22, {with_default("alpha", 1.67326319F), with_default("gamma", 1.05070102F)}),
          selu_gradient),
      differentiable(function("Celu", 28, {with_default("alpha", 1.0F)}), celu_gradient),
      differentiable(function("Softplus", 22), softplus_gradient),
      differentiable(unary("Softsign", 22, kFloats), softsign_gradient),
      differentiable(function("Gelu", 20, {with_default("approximate", std::string("none"))}), gelu_gradient),
      differentiable(function("Mish", 22), mish_gradient),
      differentiable(function("Swish", 24, {with_default("alpha", 1.0F)}), swish_gradient),
      differentiable(in_domain("com.microsoft", function("QuickGelu", 1, {with_default("alpha", 1.702F)})),
                     swish_gradient),
      differentiable(swiglu(), swiglu_gradient),
      differentiable(shrink(), shrink_gradient),
  };
}

}  // namespace

std::span<const OpSpec> unary_ops() {
  static const std::vector<OpSpec> kRows = [] {
    std::vector<OpSpec> rows = math_rows();
    for (OpSpec& row : activation_rows()) rows.push_back(row);
    return rows;
  }();
  return kRows;
}

}  // namespace podium::ir
