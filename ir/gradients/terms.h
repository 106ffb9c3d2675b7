// Formulas in gradient builders, written as formulas: `context.set(0, flow * (1.0 - y * y))`.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// An attribute of a Max whose limit only keeps a function defined: what flows in passes to the first input
/// as if there were no limit.
inline constexpr AttributeName kPassesGradient = "__passes_gradient";

inline Term flow_of(GradientContext& context) { return {&context, context.output_gradient()}; }

/// `first` and the numbers that follow it as int64 of this shape.
inline Term counted(TermBuilder& context, const Dims& dims, std::int64_t first = 0) {
  std::vector<std::int64_t> numbers(element_count(dims));
  std::iota(numbers.begin(), numbers.end(), first);
  return term(context, context.builder.constant(Tensor::ints(numbers).reshaped(dims)));
}

/// `count` even parts along an axis.
inline std::vector<Term> parts_of(Term whole, std::int64_t count, std::int64_t axis) {
  if (count == 1) return {whole};
  std::vector<Term> parts;
  for (ValueId id :
       whole.builder->builder.ops("", "Split", {whole}, count, {{"axis", axis}, {"num_outputs", count}}))
    parts.push_back({whole.builder, id});
  return parts;
}

/// Parts put together along an axis.
inline Term joined(const std::vector<Term>& parts, std::int64_t axis) {
  const std::vector<ValueId> ids(parts.begin(), parts.end());
  TermBuilder& builder = *parts.at(0).builder;
  return parts.size() == 1 ? parts[0] : term(builder, builder.call("Concat", ids, {{"axis", axis}}));
}

}  // namespace podium::ir
