// What an op's gradient builder is given.
#pragma once

#include <vector>

#include "ir/builder.h"

namespace podium::ir {

/// Chain rule for one op: from the gradients of its outputs to those of its inputs.
class GradientContext {
 public:
  Builder& builder;
  const Op op;                                ///< a copy: the builder appends to the ops it came from
  std::vector<ValueId> output_gradients;      ///< kNoValue: nothing flows into that output
  std::vector<ValueId> input_gradients;       ///< to fill; kNoValue: none

  GradientContext(Builder& with, Op of) : builder(with), op(std::move(of)), input_gradients(op.inputs.size()) {}

  ValueId input(std::size_t i) const { return op.inputs[i]; }
  ValueId output(std::size_t i) const { return op.outputs[i]; }
  ValueId output_gradient(std::size_t i = 0) const { return output_gradients[i]; }
  void set(std::size_t input_index, ValueId gradient) { input_gradients[input_index] = gradient; }
  /// Sums `gradient` over the dimensions along which `like` was broadcast, so that it has like's shape.
  ValueId sum_to_shape_of(ValueId gradient, ValueId like);
};

}  // namespace podium::ir
