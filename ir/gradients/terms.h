// Formulas in gradient builders, written as formulas: `context.set(0, flow * (1.0 - y * y))`.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// An attribute of a Max whose limit only keeps a function defined: what flows in passes to the first input
/// as if there were no limit.
inline constexpr std::string_view kPassesGradient = "__passes_gradient";

/// A value to which ops can be applied. Numbers take its element type; shapes broadcast as in ONNX.
struct Term {
  GradientContext* context;
  ValueId id;

  operator ValueId() const { return id; }  // NOLINT: a term is the value it stands for
  Term call(std::string_view type, std::vector<Attribute> attributes = {}) const {
    return {context, context->call(type, {id}, std::move(attributes))};
  }
  Term with(std::string_view type, ValueId other, std::vector<Attribute> attributes = {}) const {
    return {context, context->call(type, {id, other}, std::move(attributes))};
  }
  Term like(double value) const { return {context, context->number(value, id)}; }
};

inline Term term(GradientContext& context, ValueId id) { return {&context, id}; }
inline Term flow_of(GradientContext& context) { return {&context, context.output_gradient()}; }

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
  return {condition.context, condition.context->call("Where", {condition, yes, no})};
}
inline Term choose(Term condition, Term yes, double no) { return choose(condition, yes, yes.like(no)); }

}  // namespace podium::ir
