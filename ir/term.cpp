// What formulas share: constants of a float type, shapes as constants where they are known and as ops where
// only the run knows them, sums of tensors, of sequences item by item and of optionals, and the sum over the
// axes along which a value was stretched.
#include "ir/term.h"

#include <functional>
#include <memory>

#include "ir/filled.h"

namespace podium::ir {
namespace {

// SequenceMap over sequences of one length; `make` gives the item of the result from theirs.
ValueId map_items(TermBuilder& context, const std::vector<ValueId>& sequences,
                  const std::function<ValueId(TermBuilder&, const std::vector<ValueId>&)>& make) {
  Graph body;
  Builder builder(body);
  TermBuilder inner(builder);
  std::vector<ValueId> items;
  for (ValueId id : sequences)
    items.push_back(builder.input(body.fresh_name("item"), *context.type(id).inner));
  body.outputs = {make(inner, items)};
  Op map{.spec = find_op("", "SequenceMap"), .inputs = sequences};
  set_attribute(map, "body", std::make_shared<const Graph>(std::move(body)));
  return context.builder.append(std::move(map), 1)[0];
}

}  // namespace

Dims TermBuilder::static_dims(ValueId value) const {
  if (!type(value).is_static()) {
    throw NeedsRun("the gradient needs the shape of '{}', which is {}", builder.graph()[value].name,
                   to_string(type(value)));
  }
  return type(value).dims;
}

std::int64_t TermBuilder::rank(ValueId value) const {
  if (!type(value).has_rank)
    throw NeedsRun("the gradient needs the rank of '{}', which is not known", builder.graph()[value].name);
  return type(value).rank();
}

ValueId TermBuilder::number(double value, ValueId like) {
  if (type(like).element == DataType::Undefined)
    throw Error("a gradient needs the type of the elements of '{}', which is not known",
                builder.graph()[like].name);
  return builder.constant(filled(type(like).element, {}, value));
}

ValueId TermBuilder::filled_like(ValueId like, double value) {
  const Type of = type(like);
  if (of.kind == Kind::Sequence) {
    return map_items(*this, {like},
                     [&](auto& inner, const auto& items) { return inner.filled_like(items[0], value); });
  }
  if (of.is_static()) return builder.constant(filled(of.element, of.dims, value));
  return call("Expand", {number(value, like), shape_of(like)});
}

ValueId TermBuilder::shape_of(ValueId value) {
  return type(value).is_static() ? ints(type(value).dims) : call("Shape", {value});
}

ValueId TermBuilder::reshape_like(ValueId value, ValueId like) {
  if (!type(value).is_tensor() || (type(value).is_static() && type(value) == type(like))) return value;
  // A dimension of 0 means 0 here, not "as it was".
  return call("Reshape", {value, shape_of(like)}, {{"allowzero", std::int64_t{1}}});
}

ValueId TermBuilder::sum(const std::vector<ValueId>& values) {
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

ValueId TermBuilder::sum_to_shape_of(ValueId gradient, ValueId like) {
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
