// How ops carry the axis of a batch's samples from their inputs to their outputs: rules that rows share
// (OpSpec::samples). A rule that one op has stands beside its row.
#pragma once

#include <string_view>
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

/// The axis that attribute `axis` names, of a tensor of this rank.
std::int64_t axis_attribute(const SampledOp& op, std::int64_t rank);

/// Of an elementwise op.
bool each_element(const SampledOp& op);
/// One input has samples, and its axis is in the output: a reduction over it has lost it before.
bool one_input(const SampledOp& op);
/// Works along the axis that attribute `axis` names; all inputs with samples have them on one other axis.
bool along_attribute(const SampledOp& op);
/// Neither cuts nor repeats nor turns the samples.
bool keeps_whole_axis(const SampledOp& op);
/// Samples come first: what convolves, pools or works on images. What it works with is the same for all.
bool first_axis(const SampledOp& op);
/// Input 0 has samples, inputs of the set `others` (bit i: input i) may have; they come first in each.
bool samples_come_first(const SampledOp& op, unsigned others);
template <unsigned kOthers>
bool first_axis_of(const SampledOp& op) {
  return samples_come_first(op, kOthers);
}

/// Axis of `to` under which the elements lie as they lie along `axis` of `from`, an array of as many
/// elements: what a Reshape makes of a batch. kNoAxis where there is none.
int axis_after_reshape(const Dims& from, int axis, const Dims& to);

/// Why some rows have no rule.
inline constexpr std::string_view kNotWorkedOut = "which of its axes keep samples apart is not worked out";
inline constexpr std::string_view kOfWholeBatch = "a result may depend on every sample";
inline constexpr std::string_view kNoSamplesIn = "no input has samples";
inline constexpr std::string_view kNotATensor = "samples are followed through tensors only";

}  // namespace podium::ir
