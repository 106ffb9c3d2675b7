// Ops that draw random numbers.
#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {
namespace {

// The attribute dtype, checked, or `fallback`.
DataType drawn_type(const InferContext& context, DataType fallback, TypeSet allowed) {
  const DataType type = named_type(context, "dtype", allowed).value_or(fallback);
  if (!allowed.contains(type)) throw Error("numbers of type {} cannot be drawn", name_of(type));
  return type;
}

void infer_of_shape(InferContext& context) {
  const IntList& shape = context.get<IntList>("shape");
  for (std::int64_t dim : shape) {
    if (dim < 0) throw Error("a dimension of the shape is {}", dim);
  }
  context.set_output(0, drawn_type(context, DataType::Float, kFloats), shape);
}

void infer_like(InferContext& context) {
  Type type = context.input(0);
  type.element = drawn_type(context, type.element, kFloats);
  context.set_output(0, type);
}

void infer_bernoulli(InferContext& context) {
  Type type = context.input(0);
  type.element = drawn_type(context, type.element, kNumeric | kBool);
  context.set_output(0, type);
}

void infer_multinomial(InferContext& context) {
  if (context.has_rank(0) && context.dims(0).size() != 2) {
    throw Error("input is {}, a matrix needed", to_string(context.input(0)));
  }
  const std::int64_t batch = context.has_rank(0) ? context.dims(0)[0] : kUnknown;
  const std::int64_t samples = context.get_int("sample_size");
  if (samples < 0) throw Error("sample_size is {}", samples);
  context.set_output(0, drawn_type(context, DataType::Int32, kIndices), {batch, samples});
}

OpSpec random_op(std::string_view name, std::vector<Parameter> inputs, std::vector<AttributeSpec> attributes,
                 InferFunction infer) {
  attributes.push_back(may_have("dtype", AttributeKind::Int));
  attributes.push_back(may_have("seed", AttributeKind::Float));
  return {.name = name,
          .since = 22,
          .inputs = std::move(inputs),
          .outputs = {{"output", 'U'}},
          .types = {{'T', kAnyType}, {'F', kFloats}, {'U', kNumeric | kBool}},
          .attributes = std::move(attributes),
          .infer = infer,
          .work = work_per_element<10>,
          .random = true,
          .no_gradient = "its result is drawn at random"};
}

// What it draws for an element follows from the element's place in the whole tensor.
OpSpec by_element(OpSpec row) {
  row.samples = one_input;
  return row;
}

}  // namespace

std::span<const OpSpec> random_ops() {
  const AttributeSpec mean = with_default("mean", 0.0F);
  const AttributeSpec scale = with_default("scale", 1.0F);
  const AttributeSpec low = with_default("low", 0.0F);
  const AttributeSpec high = with_default("high", 1.0F);
  const AttributeSpec shape = must_have("shape", AttributeKind::Ints);
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = "its shape is given for the whole batch"},
             {
                 random_op("RandomNormal", {}, {mean, scale, shape}, infer_of_shape),
                 by_element(random_op("RandomNormalLike", {{"input"}}, {mean, scale}, infer_like)),
                 random_op("RandomUniform", {}, {low, high, shape}, infer_of_shape),
                 by_element(random_op("RandomUniformLike", {{"input"}}, {low, high}, infer_like)),
                 gained(15, by_element(random_op("Bernoulli", {{"input", 'F'}}, {}, infer_bernoulli))),
                 gained(7, random_op("Multinomial", {{"input", 'F'}},
                                     {with_default("sample_size", std::int64_t{1})}, infer_multinomial)),
             });
  return kRows;
}

}  // namespace podium::ir
