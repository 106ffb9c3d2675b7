// Sequences and optionals: values that hold values.
// A sequence's type holds what is true of all its items: one kind, one element type, the dimensions in which
// they agree (common_type). The type of an item that nobody knows is a tensor of undefined elements. Whether
// an optional holds something is a constant where the type says so.
#include <algorithm>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {
namespace {

bool is_unknown(const Type& type) { return type.is_tensor() && type.element == DataType::Undefined; }

// The type that both have in common.
Type common_type(const Type& a, const Type& b) {
  if (is_unknown(a)) return b;
  if (is_unknown(b) || a == b) return a;
  if (a.kind != b.kind || a.element != b.element) {
    throw Error("{} and {} found in one sequence", to_string(a), to_string(b));
  }
  Type result = a;
  if (!a.is_tensor()) {
    result.inner = std::make_shared<const Type>(common_type(*a.inner, *b.inner));
    return result;
  }
  if (!a.has_rank || !b.has_rank || a.dims.size() != b.dims.size()) return Type::tensor(a.element);
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    if (a.dims[i] != b.dims[i]) result.dims[i] = kUnknown;
  }
  return result;
}

// The type of the items of the sequence at input 0; unknown when nobody knows.
Type item_type(const InferContext& context) {
  const Type& type = context.input(0);
  if (is_unknown(type)) return {};
  if (type.kind != Kind::Sequence) throw Error("input is {}, a sequence needed", to_string(type));
  return *type.inner;
}

void infer_sequence_empty(InferContext& context) {
  const DataType element = named_type(context, "dtype", kAnyType).value_or(DataType::Float);
  context.set_output(0, Type::sequence(Type::tensor(element)));
}

void infer_sequence_construct(InferContext& context) {
  Type inner;
  for (std::size_t i = 0; i < context.input_count(); ++i) inner = common_type(inner, context.input(i));
  context.set_output(0, Type::sequence(inner));
}

void infer_sequence_insert(InferContext& context) {
  context.set_output(0, Type::sequence(common_type(item_type(context), context.input(1))));
}

void infer_sequence_erase(InferContext& context) {
  context.set_output(0, Type::sequence(item_type(context)));
}

void infer_sequence_at(InferContext& context) { context.set_output(0, item_type(context)); }

void infer_sequence_length(InferContext& context) {
  item_type(context);
  context.set_output(0, DataType::Int64, {});
}

void infer_split_to_sequence(InferContext& context) {
  if (!context.has_rank(0)) return context.set_output(0, Type::sequence(Type::tensor(context.element(0))));
  Dims dims = context.dims(0);
  const std::int64_t axis = normalized_axis(context.get_int("axis"), std::ssize(dims));
  if (context.has_input(1)) {
    dims[axis] = kUnknown;
  } else if (context.get_int("keepdims") != 0) {
    dims[axis] = 1;
  } else {
    dims.erase(dims.begin() + axis);
  }
  context.set_output(0, Type::sequence(Type::tensor(context.element(0), std::move(dims))));
}

void infer_concat_from_sequence(InferContext& context) {
  const Type inner = item_type(context);
  const std::int64_t is_new = context.get_int("new_axis");
  if (is_new != 0 && is_new != 1) throw Error("new_axis is {}, 0 or 1 needed", is_new);
  if (!inner.has_rank) return context.set_output_element(0, inner.element);
  Dims dims = inner.dims;
  const std::int64_t axis = normalized_axis(context.get_int("axis"), inner.rank() + is_new);
  if (is_new == 1) dims.insert(dims.begin() + axis, kUnknown);
  dims[axis] = kUnknown;
  context.set_output(0, inner.element, std::move(dims));
}

void infer_optional(InferContext& context) {
  const auto* declared = context.get_if<Type>("type");
  if (context.has_input(0)) return context.set_output(0, Type::optional(context.input(0)));
  if (declared == nullptr) throw Error("neither an input nor a type found, one needed");
  context.set_output(0, Type::optional(*declared));
}

void infer_optional_get_element(InferContext& context) {
  const Type& type = context.input(0);
  context.set_output(0, type.kind == Kind::Optional ? *type.inner : type);
}

void infer_optional_has_element(InferContext& context) {
  if (!context.has_input(0)) return context.set_constant(0, Tensor::scalar(false));
  const Type& type = context.input(0);
  if (type.kind != Kind::Optional && !is_unknown(type)) return context.set_constant(0, Tensor::scalar(true));
  context.set_output(0, DataType::Bool, {});
}

// 'S': a sequence or an optional; 'T': a tensor; 'I': positions.
OpSpec row(std::string_view name, int since, int gained_in, std::vector<Parameter> inputs, Parameter output,
           InferFunction infer) {
  return {.name = name,
          .since = since,
          .gained = gained_in,
          .inputs = std::move(inputs),
          .outputs = {output},
          .types = {{'S', {}, true}, {'T', kAnyType}, {'I', kIndices}, {'L', kInt64}, {'B', kBool}},
          .infer = infer,
          .work = work_of_moving};
}

OpSpec with_settings(OpSpec spec, std::vector<AttributeSpec> attributes) {
  spec.attributes = std::move(attributes);
  return spec;
}

OpSpec without_element_gradient(OpSpec spec) {
  spec.no_gradient = "its result does not depend on the elements";
  return spec;
}

std::vector<OpSpec> sequence_rows() {
  const Parameter sequence{"input_sequence", 'S'};
  const Parameter result{"output_sequence", 'S'};
  const Parameter position{"position", 'I', Formal::Optional};
  return {
      without_element_gradient(
          with_settings(row("SequenceEmpty", 11, 11, {}, {"output", 'S'}, infer_sequence_empty),
                        {may_have("dtype", AttributeKind::Int)})),
      row("SequenceConstruct", 11, 11, {{"inputs", 'T', Formal::Variadic}}, result, infer_sequence_construct),
      row("SequenceInsert", 11, 11, {sequence, {"tensor"}, position}, result, infer_sequence_insert),
      row("SequenceErase", 11, 11, {sequence, position}, result, infer_sequence_erase),
      row("SequenceAt", 11, 11, {sequence, {"position", 'I'}}, {"tensor"}, infer_sequence_at),
      without_element_gradient(
          row("SequenceLength", 11, 11, {sequence}, {"length", 'L'}, infer_sequence_length)),
      with_settings(row("SplitToSequence", 24, 11, {{"input"}, {"split", 'I', Formal::Optional}}, result,
                        infer_split_to_sequence),
                    {with_default("axis", std::int64_t{0}), with_default("keepdims", std::int64_t{1})}),
      with_settings(
          row("ConcatFromSequence", 11, 11, {sequence}, {"concat_result"}, infer_concat_from_sequence),
          {must_have("axis", AttributeKind::Int), with_default("new_axis", std::int64_t{0})}),
  };
}

std::vector<OpSpec> optional_rows() {
  const Parameter input{"input", 'S', Formal::Optional};
  return {
      with_settings(row("Optional", 15, 15, {input}, {"output", 'S'}, infer_optional),
                    {may_have("type", AttributeKind::Type)}),
      row("OptionalGetElement", 18, 15, {{"input", 'S'}}, {"output", 'S'}, infer_optional_get_element),
      without_element_gradient(
          row("OptionalHasElement", 18, 15, {input}, {"output", 'B'}, infer_optional_has_element)),
  };
}

}  // namespace

std::span<const OpSpec> sequence_ops() {
  static const std::vector<OpSpec> kRows = [] {
    std::vector<OpSpec> rows = sequence_rows();
    for (OpSpec& optional : optional_rows()) rows.push_back(std::move(optional));
    return family({.category = Category::Plain, .no_samples = kNotATensor}, std::move(rows));
  }();
  return kRows;
}

}  // namespace podium::ir
