// A Loop or a Scan as one thing, as the builder of their gradients sees it.
#pragma once

#include <vector>

#include "ir/gradient.h"

namespace podium::ir {

/// A value of the body and the value of the op's graph that it is or is a slice of; along which axis, and in
/// which direction the reverse loop takes the slices.
struct Port {
  ValueId inner;
  ValueId outer;
  std::int64_t axis = 0;
  std::int64_t direction = 1;
};

/// A Scan or a Loop, which has no slices. The body takes states, slices, captured values and gives states,
/// then what is stacked.
struct Scanning {
  Graph body = {};
  std::size_t first_state = 0;  // among the inputs of the op
  std::size_t states = 0;
  ValueId number = {};  // of a Loop: which iteration it is
  std::vector<Port> slices = {};
  std::vector<Port> stacks = {};
  std::vector<Port> captured = {};
};

/// Of the context's op; what flows into its outputs belongs to the stacks.
Scanning read_scan(GradientContext& context);
Scanning read_loop(GradientContext& context);

}  // namespace podium::ir
