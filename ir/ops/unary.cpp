// Ops that compute each element of the output from one element of the input.
// Rows by kind: unary (one operation per element), function (eight), test (gives bools). Ops whose derivative
// is 0 wherever it exists say so in place of a gradient.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/totals.h"

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
          .work = work_per_element<1>,
          .elementwise = true,
          .in_place = kFirstInput};
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
          .elementwise = true,
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
  spec.elementwise = false;  // nothing is stretched
  spec.in_place = kFirstTwoInputs;
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
      unary("Abs", 13, kNumeric),
      with_total(total_of_first, unary("Neg", 13, kFloats | kSignedInts)),
      gained(9, without_gradient(unary("Sign", 13, kNumeric), kFlat)),
      unary("Reciprocal", 13, kFloats),
      unary("Sqrt", 13, kFloats),
      without_gradient(unary("Floor", 13, kFloats), kFlat),
      without_gradient(unary("Ceil", 13, kFloats), kFlat),
      gained(11, without_gradient(unary("Round", 22, kFloats), kFlat)),
      function("Exp", 13),
      function("Log", 13),
      gained(9, unary("Erf", 13, kNumeric)),
      gained(7, function("Sin", 22)),
      gained(7, function("Cos", 22)),
      gained(7, function("Tan", 22)),
      gained(7, function("Asin", 22)),
      gained(7, function("Acos", 22)),
      gained(7, function("Atan", 22)),
      gained(9, function("Sinh", 22)),
      gained(9, function("Cosh", 22)),
      function("Tanh", 13),
      gained(9, function("Asinh", 22)),
      gained(9, function("Acosh", 22)),
      gained(9, function("Atanh", 22)),
      clip(),
      without_gradient(unary("Not", 1, kBool), "its input is not a number"),
      gained(18, without_gradient(unary("BitwiseNot", 18, kInts), "its input is an integer")),
      gained(9, test("IsNaN", 20)),
      gained(10, test("IsInf", 20, {with_default("detect_negative", 1), with_default("detect_positive", 1)})),
  };
}

OpSpec in_domain(std::string_view domain, OpSpec row) {
  row.domain = domain;
  return row;
}

std::vector<OpSpec> activation_rows() {
  return {
      unary("Relu", 14, kFloats | kSignedInts),
      unary("LeakyRelu", 16, kFloats, {with_default("alpha", 0.01F)}),
      unary("HardSigmoid", 22, kFloats, {with_default("alpha", 0.2F), with_default("beta", 0.5F)}),
      gained(14, unary("HardSwish", 22, kFloats)),
      unary("ThresholdedRelu", 22, kFloats, {with_default("alpha", 1.0F)}),
      function("Sigmoid", 13),
      function("Elu", 22, {with_default("alpha", 1.0F)}),
      function("Selu", 22, {with_default("alpha", 1.67326319F), with_default("gamma", 1.05070102F)}),
      gained(12, function("Celu", 28, {with_default("alpha", 1.0F)})),
      function("Softplus", 22),
      unary("Softsign", 22, kFloats),
      gained(20, function("Gelu", 20, {with_default("approximate", std::string("none"))})),
      gained(18, function("Mish", 22)),
      gained(24, function("Swish", 24, {with_default("alpha", 1.0F)})),
      in_domain("com.microsoft", function("QuickGelu", 1, {with_default("alpha", 1.702F)})),
      gained(28, swiglu()),
      gained(9, shrink()),
  };
}

}  // namespace

std::span<const OpSpec> unary_ops() {
  static const std::vector<OpSpec> kRows = [] {
    std::vector<OpSpec> rows = math_rows();
    for (OpSpec& row : activation_rows()) rows.push_back(row);
    return family({.category = Category::Elementwise, .no_samples = kNotWorkedOut}, std::move(rows));
  }();
  return kRows;
}

}  // namespace podium::ir
