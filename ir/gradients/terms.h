// Formulas in gradient builders, written as formulas: `context.set(0, flow * (1.0 - y * y))`.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// An attribute of a Max whose limit only keeps a function defined: what flows in passes to the first input
/// as if there were no limit.
inline constexpr std::string_view kPassesGradient = "__passes_gradient";

inline Term flow_of(GradientContext& context) { return {&context, context.output_gradient()}; }

/// 0, 1, ... as int64 of this shape.
inline Term counted(TermBuilder& context, const Dims& dims) {
  std::vector<std::int64_t> numbers(element_count(dims));
  std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  return term(context, context.builder.constant(Tensor::ints(numbers).reshaped(dims)));
}

}  // namespace podium::ir
