// Formulas over the values of a graph, written as formulas: `gradient * (1.0 - y * y)` appends the ops.
#pragma once

#include "ir/builder.h"

namespace podium::ir {

/// A builder needs a shape or numbers that only the run knows.
class NeedsRun : public Error {
 public:
  using Error::Error;
};

/// Appends what formulas consist of.
class TermBuilder {
 public:
  Builder& builder;

  explicit TermBuilder(Builder& with) : builder(with) {}

  const Type& type(ValueId value) const { return builder.type(value); }
  /// The known dimensions of a value. NeedsRun when one is not known.
  Dims static_dims(ValueId value) const;
  /// Rank of a value. NeedsRun when it is not known.
  std::int64_t rank(ValueId value) const;
  ValueId call(std::string_view type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return builder.op(type, std::move(inputs), std::move(attributes));
  }
  ValueId ints(const std::vector<std::int64_t>& values) { return builder.constant(Tensor::ints(values)); }
  /// A scalar constant of the element type of `like`.
  ValueId number(double value, ValueId like);
  /// A constant where the shape is known, else filled when it runs. Of a sequence, item by item.
  ValueId filled_like(ValueId like, double value);
  /// The shape of a value: a constant where it is known.
  ValueId shape_of(ValueId value);
  ValueId reshape_like(ValueId value, ValueId like);
  /// Of tensors of one shape, in this order; of sequences item by item, of optionals of what they hold.
  ValueId sum(const std::vector<ValueId>& values);
  /// Sums `gradient` over the dimensions along which `like` was broadcast, so that it has like's shape.
  ValueId sum_to_shape_of(ValueId gradient, ValueId like);
};

/// A value to which ops can be applied. Numbers take its element type; shapes broadcast as in ONNX.
struct Term {
  TermBuilder* builder;
  ValueId id;

  operator ValueId() const { return id; }  // NOLINT: a term is the value it stands for
  Term call(std::string_view type, std::vector<Attribute> attributes = {}) const {
    return {builder, builder->call(type, {id}, std::move(attributes))};
  }
  Term with(std::string_view type, ValueId other, std::vector<Attribute> attributes = {}) const {
    return {builder, builder->call(type, {id, other}, std::move(attributes))};
  }
  Term cast(DataType type) const { return call("Cast", {{"to", static_cast<std::int64_t>(type)}}); }
  Term like(double value) const { return {builder, builder->number(value, id)}; }
};

inline Term term(TermBuilder& builder, ValueId id) { return {&builder, id}; }

inline Term operator+(Term a, Term b) { return a.with("Add", b); }
inline Term operator-(Term a, Term b) { return a.with("Sub", b); }
inline Term operator*(Term a, Term b) { return a.with("Mul", b); }
inline Term operator/(Term a, Term b) { return a.with("Div", b); }
inline Term operator-(Term a) { return a.call("Neg"); }
inline Term operator+(Term a, double b) { return a + a.like(b); }
inline Term operator-(Term a, double b) { return a - a.like(b); }
inline Term operator-(double a, Term b) { return b.like(a) - b; }
inline Term operator*(Term a, double b) { return a * a.like(b); }
inline Term operator/(double a, Term b) { return b.like(a) / b; }
inline Term operator>(Term a, Term b) { return a.with("Greater", b); }
inline Term operator<(Term a, Term b) { return a.with("Less", b); }
inline Term operator>(Term a, double b) { return a > a.like(b); }
inline Term operator<(Term a, double b) { return a < a.like(b); }

/// Elementwise: `yes` where the condition holds, else `no`.
inline Term choose(Term condition, Term yes, Term no) {
  return {condition.builder, condition.builder->call("Where", {condition, yes, no})};
}
inline Term choose(Term condition, Term yes, double no) { return choose(condition, yes, yes.like(no)); }

}  // namespace podium::ir
