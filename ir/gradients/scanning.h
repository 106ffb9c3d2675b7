// A Loop or a Scan as one thing, as the builder of their gradients sees it.
#pragma once

#include <vector>

#include "ir/gradients/gradient.h"

namespace podium::ir {

/// A value of the body with the value of the op's graph that it is, or of which it is a slice; the axis of
/// the slices, and the direction in which the reverse loop takes them.
struct Port {
  ValueId inner;
  ValueId outer;
  std::int64_t axis = 0;
  std::int64_t direction = 1;
};

/// A Scan, or a Loop, which is one without slices. The body takes states, slices and captured values; it
/// gives states, then the elements of the stacks.
struct Scanning {
  Graph body = {};
  std::size_t first_state = 0;  // among the inputs of the op
  std::size_t states = 0;
  ValueId number = {};  // in a Loop the number of the iteration
  std::vector<Port> slices = {};
  std::vector<Port> stacks = {};
  std::vector<Port> captured = {};
};

/// Reads the context's op; the gradients that flow into its outputs belong to the stacks.
Scanning read_scan(GradientContext& context);
Scanning read_loop(GradientContext& context);

}  // namespace podium::ir
