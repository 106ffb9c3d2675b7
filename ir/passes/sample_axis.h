// Which ops keep the samples of a batch apart, and how they carry the batch's axis from inputs to outputs.
#pragma once

#include <vector>

#include "ir/infer.h"

namespace podium::ir {

/// The axis of a value along which samples lie; kNoAxis of a value that is the same for all samples.
inline constexpr int kNoAxis = -1;

/// An op with its types for a whole batch and the axis of the samples of each input and output.
struct SampledOp {
  const TypedOp& typed;
  std::vector<int> inputs;
  std::vector<int> outputs;

  bool has(std::size_t input) const { return input < inputs.size() && inputs[input] != kNoAxis; }
  /// Counted from the last axis, which is 0: how broadcasting aligns.
  int input_from_last(std::size_t i) const { return typed.input(i).rank() - 1 - inputs[i]; }
  int output_from_last(std::size_t i) const { return typed.output(i).rank() - 1 - outputs[i]; }
};

/// True when each sample of the outputs depends on the same sample of the inputs alone. Asked of an op whose
/// outputs all have an axis. False for every op of which it is not known.
bool keeps_samples_apart(const SampledOp& op);

/// Axis of `to` under which the elements lie as they lie along `axis` of `from`, an array of as many
/// elements: what a Reshape makes of a batch. kNoAxis where there is none.
int axis_after_reshape(const Dims& from, int axis, const Dims& to);

/// The op broadcasts its inputs against each other, element by element.
bool is_elementwise(const Op& op);

}  // namespace podium::ir
