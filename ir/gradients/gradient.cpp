// What builders share: constants of a float type, shapes as constants where they are known and as ops where
// only the run knows them, sums of tensors, of sequences item by item and of optionals, and the sum over the
// axes along which a value was stretched. Large zeros are pages that the system hands out when they are
// written.
#include "ir/gradients/gradient.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>

#include "ir/element.h"

namespace podium::ir {
namespace {

// Calls `visit` with a number of the element type.
template <class Visit>
void with_float(DataType element, const Visit& visit) {
  switch (element) {
    case DataType::Float:
      return visit(float());
    case DataType::Double:
      return visit(double());
    case DataType::Float16:
      return visit(Float16());
    case DataType::Bfloat16:
      return visit(Bfloat16());
    default:
      throw Error("gradients of {} cannot be taken", name_of(element));
  }
}

template <class T>
T to_float(double value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return T(static_cast<float>(value));
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, double>) return value;
  return static_cast<float>(value);
}

// Large memory that the system hands out as zeros: pages that nobody writes cost neither memory nor time,
// which is what an estimate of a model without its weights needs. The C library's would be cleared by hand
// where it has been used before.
Tensor zeros(DataType element, Dims dims) {
  const std::size_t bytes = static_cast<std::size_t>(element_count(dims)) * storage_bytes(element);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error("out of memory: {} bytes for one tensor", bytes);
  const std::shared_ptr<void> owner(memory, [bytes](void* pages) { munmap(pages, bytes); });
  return Tensor::adopt(element, std::move(dims), memory, owner);
}

}  // namespace

Tensor filled(DataType element, Dims dims, double value) {
  constexpr std::int64_t kLarge = 1 << 18;
  if (value == 0 && !std::signbit(value) && element_count(dims) >= kLarge)
    return zeros(element, std::move(dims));
  Tensor tensor(element, std::move(dims));
  with_float(element, [&](auto kind) {
    using T = decltype(kind);
    std::fill_n(tensor.data<T>(), tensor.size(), to_float<T>(value));
  });
  return tensor;
}

Tensor multiplied(const Tensor& tensor, double factor, DataType element) {
  Tensor result(element, tensor.dims());
  with_float(tensor.type(), [&](auto from_kind) {
    with_float(element, [&](auto to_kind) {
      using From = decltype(from_kind);
      using To = decltype(to_kind);
      const auto from = tensor.values<From>();
      std::transform(from.begin(), from.end(), result.values<To>().begin(),
                     [&](From value) { return to_float<To>(to_double(value) * factor); });
    });
  });
  return result;
}

std::span<const GivenInput> inputs_taken_as_given() {
  static constexpr std::array<GivenInput, 5> kGiven{
      {{"Dropout", 1}, {"MaxRoiPool", 1}, {"Resize", 1}, {"Resize", 2}, {"RoiAlign", 1}}};
  return kGiven;
}

bool is_taken_as_given(const OpSpec& spec, std::size_t input) {
  const auto given = inputs_taken_as_given();
  return spec.domain.empty() && std::any_of(given.begin(), given.end(), [&](const GivenInput& one) {
           return one.op == spec.name && one.input == input;
         });
}

namespace {

// SequenceMap over sequences of one length; `make` gives the item of the result from theirs.
ValueId map_items(GradientContext& context, const std::vector<ValueId>& sequences,
                  const std::function<ValueId(GradientContext&, const std::vector<ValueId>&)>& make) {
  Graph body;
  Builder builder(body);
  GradientContext inner(builder, Op{}, {}, {});
  std::vector<ValueId> items;
  for (ValueId id : sequences)
    items.push_back(builder.input(body.fresh_name("item"), *context.type(id).inner));
  body.outputs = {make(inner, items)};
  Op map{.spec = find_op("", "SequenceMap"), .inputs = sequences};
  set_attribute(map, "body", std::make_shared<const Graph>(std::move(body)));
  return context.builder.append(std::move(map), 1)[0];
}

}  // namespace

Dims GradientContext::static_dims(ValueId value) const {
  if (!type(value).is_static()) {
    throw NeedsRun("the gradient needs the shape of '{}', which is {}", builder.graph()[value].name,
                   to_string(type(value)));
  }
  return type(value).dims;
}

std::int64_t GradientContext::rank(ValueId value) const {
  if (!type(value).has_rank)
    throw NeedsRun("the gradient needs the rank of '{}', which is not known", builder.graph()[value].name);
  return type(value).rank();
}

const Tensor& GradientContext::known(std::size_t i) const {
  const std::optional<Tensor>& tensor = builder.graph()[input(i)].constant;
  if (!tensor) throw NeedsRun("the gradient needs the numbers of '{}'", builder.graph()[input(i)].name);
  return *tensor;
}

ValueId GradientContext::number(double value, ValueId like) {
  return builder.constant(filled(type(like).element, {}, value));
}

ValueId GradientContext::filled_like(ValueId like, double value) {
  const Type of = type(like);
  if (of.kind == Kind::Sequence) {
    return map_items(*this, {like},
                     [&](auto& inner, const auto& items) { return inner.filled_like(items[0], value); });
  }
  if (of.is_static()) return builder.constant(filled(of.element, of.dims, value));
  return call("Expand", {number(value, like), shape_of(like)});
}

ValueId GradientContext::shape_of(ValueId value) {
  return type(value).is_static() ? ints(type(value).dims) : call("Shape", {value});
}

ValueId GradientContext::reshape_like(ValueId value, ValueId like) {
  if (!type(value).is_tensor() || (type(value).is_static() && type(value) == type(like))) return value;
  // A dimension of 0 means 0 here, not "as it was".
  return call("Reshape", {value, shape_of(like)}, {{"allowzero", std::int64_t{1}}});
}

ValueId GradientContext::sum(const std::vector<ValueId>& values) {
  if (values.size() == 1) return values[0];
  const Kind kind = type(values[0]).kind;
  if (kind == Kind::Tensor) return call("Sum", values);
  if (kind == Kind::Sequence) {
    return map_items(*this, values, [](auto& inner, const auto& items) { return inner.sum(items); });
  }
  std::vector<ValueId> held;
  for (ValueId value : values) held.push_back(call("OptionalGetElement", {value}));
  return call("Optional", {sum(held)});
}

ValueId GradientContext::sum_to_shape_of(ValueId gradient, ValueId like) {
  if (type(gradient).is_static() && type(gradient).dims == type(like).dims) return gradient;
  if (!type(gradient).is_static() || !type(like).is_static()) {
    // The axes to sum over are known when it runs: those where `like` has one entry or none.
    const auto rank_of = [&](ValueId value) { return call("Shape", {call("Shape", {value})}); };
    const ValueId extra_axes = call("Sub", {rank_of(gradient), rank_of(like)});
    const ValueId ones = call("ConstantOfShape", {extra_axes}, {{"value", Tensor::ints({1})}});
    const ValueId aligned = call("Concat", {ones, call("Shape", {like})}, {{"axis", std::int64_t{0}}});
    const ValueId where = call("NonZero", {call("Equal", {aligned, ints({1})})});
    const ValueId axes = call("Squeeze", {where, ints({0})});
    return reshape_like(call("ReduceSum", {gradient, axes}, {{"noop_with_empty_axes", std::int64_t{1}}}),
                        like);
  }
  const std::int64_t extra = rank(gradient) - rank(like);
  const Dims from = type(gradient).dims;
  const Dims to = type(like).dims;
  IntList axes;
  for (std::int64_t i = 0; i < std::ssize(from); ++i) {
    const bool is_extra = i < extra;
    if (is_extra || (to[i - extra] == 1 && from[i] != 1)) {
      axes.push_back(i);
    }
  }
  return reshape_like(call("ReduceSum", {gradient, ints(axes)}), like);
}

}  // namespace podium::ir
