// What the gradient of a Loop or a Scan consists of, before anything is appended.
#pragma once

#include <string>
#include <vector>

#include "ir/gradients/scanning.h"

namespace podium::ir {

/// An x of the body and the input of the op that it is, is the state of or is a slice of.
struct LoopInput {
  ValueId inner;
  std::size_t input = 0;
  std::int64_t axis = 0;  ///< of a slice, as is the direction
  std::int64_t direction = 0;
};

/// A product of rows with a captured matrix. The gradient of the matrix is one product after the loop, not a
/// sum of many small ones; and as most of the work of a loop is in such products, the forward loop hands
/// their results out, too.
struct LoopProduct {
  std::size_t op = 0;  ///< of the body: a MatMul
  ValueId rows;
  ValueId result;
  std::size_t input = 0;  ///< of the loop: the matrix
};

/// What a gradient goes back to, and the products that are taken out of the reverse loop.
struct LoopPlan {
  std::vector<LoopInput> carried;  ///< states that are wanted or change smoothly with what is wanted
  std::vector<LoopInput> slices;
  std::vector<LoopInput> captured;
  std::vector<LoopProduct> products;
};

/// `scan`: the op of the context, with nothing random left in its body.
LoopPlan plan_loop_gradient(const GradientContext& context, const Scanning& scan);

/// A line for each: "carries h (input 0)", "product y = x * input 3".
std::string print(const LoopPlan& plan, const Graph& body);

}  // namespace podium::ir
