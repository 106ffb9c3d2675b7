// Ops whose elements come from no tensor: constants, ranges, identity matrices.
// The length of a range is ceil((limit - start) / delta), in unsigned arithmetic for integers, so that limits
// far apart do not overflow, and in the element type's own precision for floats, as the kernel computes it.
#include "ir/ops/generate.h"

#include <algorithm>
#include <cmath>

#include "ir/ops/common.h"
#include "ir/ops/families.h"
#include "ir/ops/movement.h"

namespace podium::ir {

Tensor constant_of(const Op& op) {
  std::vector<Tensor> found;
  if (const auto* value = attribute_if<Tensor>(op, "value")) found.push_back(*value);
  if (const auto* value = attribute_if<float>(op, "value_float")) found.push_back(Tensor::scalar(*value));
  if (const auto* value = attribute_if<std::int64_t>(op, "value_int"))
    found.push_back(Tensor::scalar(*value));
  if (const auto* value = attribute_if<std::string>(op, "value_string"))
    found.push_back(Tensor::scalar(*value));
  const auto add_list = [&](const auto* list) {
    if (list != nullptr) found.push_back(Tensor::of({std::ssize(*list)}, *list));
  };
  add_list(attribute_if<FloatList>(op, "value_floats"));
  add_list(attribute_if<IntList>(op, "value_ints"));
  add_list(attribute_if<StringList>(op, "value_strings"));
  if (found.size() != 1) throw Error("{} value attributes found, one needed", found.size());
  return found.front();
}

namespace {

void infer_constant(InferContext& context) { context.set_constant(0, constant_of(context.op)); }

void infer_constant_of_shape(InferContext& context) {
  const auto* value = context.get_if<Tensor>("value");
  if (value != nullptr && value->size() != 1) {
    throw Error("attribute 'value' has {} elements, one needed", value->size());
  }
  const DataType element = value == nullptr ? DataType::Float : value->type();
  const auto shape = known_list(context, 0);
  if (!shape) return set_output_rank(context, 0, element, list_length(context, 0));
  for (std::size_t i = 0; i < shape->size(); ++i) {
    if ((*shape)[i] < 0) throw Error("dimension {} of the wanted shape is {}", i, (*shape)[i]);
  }
  context.set_output(0, element, *shape);
}

// Without overflow for limits far apart.
std::int64_t steps_of_integers(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto low = static_cast<std::uint64_t>(std::min(start, limit));
  const std::uint64_t span = static_cast<std::uint64_t>(std::max(start, limit)) - low;
  const std::uint64_t step =
      delta > 0 ? static_cast<std::uint64_t>(delta) : 0 - static_cast<std::uint64_t>(delta);
  const std::uint64_t whole_steps = span / step;
  if (whole_steps >= std::uint64_t{1} << 62) {
    throw Error("a range from {} to {} by {} does not fit memory", start, limit, delta);
  }
  return static_cast<std::int64_t>(whole_steps + (span % step == 0 ? 0 : 1));
}

template <class T>
std::int64_t steps_of_reals(T start, T limit, T delta) {
  const double steps = std::ceil(static_cast<double>((limit - start) / delta));
  if (!(steps < 9e18)) throw Error("a range from {} to {} by {} has no end", start, limit, delta);
  return steps < 0 ? 0 : static_cast<std::int64_t>(steps);
}

std::int64_t range_length(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (delta.to_number() == 0) throw Error("the range's delta is 0");
  if (start.type() == DataType::Int64) {
    return steps_of_integers(*start.data<std::int64_t>(), *limit.data<std::int64_t>(),
                             *delta.data<std::int64_t>());
  }
  if (is_integer(start.type())) {
    return steps_of_integers(static_cast<std::int64_t>(start.to_number()),
                             static_cast<std::int64_t>(limit.to_number()),
                             static_cast<std::int64_t>(delta.to_number()));
  }
  if (start.type() == DataType::Double) {
    return steps_of_reals(start.to_number(), limit.to_number(), delta.to_number());
  }
  return steps_of_reals(static_cast<float>(start.to_number()), static_cast<float>(limit.to_number()),
                        static_cast<float>(delta.to_number()));
}

void infer_range(InferContext& context) {
  bool is_known = true;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::int64_t count = context.input(i).element_count();
    if (count != kUnknown && count != 1) {
      throw Error("input '{}' is {}, one number needed", context.op.spec->inputs[i].name,
                  to_string(context.input(i)));
    }
    is_known = is_known && context.constant(i) != nullptr;
  }
  const std::int64_t length =
      is_known ? range_length(*context.constant(0), *context.constant(1), *context.constant(2)) : kUnknown;
  context.set_output(0, context.element(0), {length});
}

void infer_eye_like(InferContext& context) {
  Type type = context.input(0);
  if (type.has_rank && type.rank() != 2) throw Error("input is {}, a matrix needed", to_string(type));
  if (!type.has_rank) type = Type::tensor(type.element, {kUnknown, kUnknown});
  type.element = named_type(context, "dtype", kNumeric | kBool).value_or(type.element);
  if (!(kNumeric | kBool).contains(type.element)) {
    throw Error("an identity of {} found, numbers or bool needed", name_of(type.element));
  }
  context.set_output(0, type);
}

constexpr std::string_view kConstant = "its result does not depend on the elements";

OpSpec constant_row() {
  return {
      .name = "Constant",
      .since = 25,
      .outputs = {{"output"}},
      .types = {{'T', kAnyType}},
      .attributes = {may_have("value", AttributeKind::Tensor), may_have("value_float", AttributeKind::Float),
                     may_have("value_floats", AttributeKind::Floats),
                     may_have("value_int", AttributeKind::Int), may_have("value_ints", AttributeKind::Ints),
                     may_have("value_string", AttributeKind::String),
                     may_have("value_strings", AttributeKind::Strings)},
      .infer = infer_constant,
      .work = no_work,
      .no_gradient = kConstant};
}

}  // namespace

std::span<const OpSpec> generate_ops() {
  static const std::vector<OpSpec> kRows =
      family({.category = Category::Plain, .no_samples = kNoSamplesIn},
             {
                 constant_row(),
                 {.name = "ConstantOfShape",
                  .since = 25,
                  .gained = 9,
                  .inputs = {{"input", 'I'}},
                  .outputs = {{"output"}},
                  .types = {{'T', kAnyType}, {'I', kInt64}},
                  .attributes = {may_have("value", AttributeKind::Tensor)},
                  .infer = infer_constant_of_shape,
                  .work = work_of_moving,
                  .no_gradient = kConstant},
                 {.name = "Range",
                  .since = 27,
                  .gained = 11,
                  .inputs = {{"start"}, {"limit"}, {"delta"}},
                  .outputs = {{"output"}},
                  .types = {{'T', kFloats | TypeSet{DataType::Int16, DataType::Int32, DataType::Int64}}},
                  .attributes = {with_default("stash_type", std::int64_t{1})},
                  .infer = infer_range,
                  .work = work_per_element<2>},
                 {.name = "EyeLike",
                  .since = 22,
                  .gained = 9,
                  .inputs = {{"input"}},
                  .outputs = {{"output", 'U'}},
                  .types = {{'T', kNumeric | kBool}, {'U', kNumeric | kBool}},
                  .attributes = {may_have("dtype", AttributeKind::Int), with_default("k", std::int64_t{0})},
                  .infer = infer_eye_like,
                  .work = work_of_moving,
                  .no_samples = kOfWholeBatch,
                  .no_gradient = kConstant},
             });
  return kRows;
}

}  // namespace podium::ir
