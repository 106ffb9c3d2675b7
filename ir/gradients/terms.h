// Formulas in gradient builders, written as formulas: `context.set(0, flow * (1.0 - y * y))`.
#pragma once

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// An attribute of a Max whose limit only keeps a function defined: what flows in passes to the first input
/// as if there were no limit.
inline constexpr std::string_view kPassesGradient = "__passes_gradient";

inline Term flow_of(GradientContext& context) { return {&context, context.output_gradient()}; }

}  // namespace podium::ir
