#include "ir/passes/sample_total.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace podium::ir {
namespace {

bool is_one_of(const Op& op, std::initializer_list<std::string_view> names) {
  return std::any_of(names.begin(), names.end(), [&](std::string_view name) { return op.is(name); });
}

std::ptrdiff_t count_without_axis(const SampledOp& op) {
  return std::count(op.inputs.begin(), op.inputs.end(), kNoAxis);
}

// The mean of ONNX's losses divides by the number, or the weights, of the labels that count, and these may
// differ from slice to slice.
int loss_of_classes(const SampledOp& op) {
  constexpr std::size_t kWeights = 2;
  if (op.inputs[0] != 0 || op.inputs[1] != 0 || op.has(kWeights)) return kNoAxis;
  const std::string& reduction = op.typed.get_string("reduction");
  if (reduction == "sum") return kSummed;
  const bool all_count =
      !op.typed.has_input(kWeights) && op.typed.get_if<std::int64_t>("ignore_index") == nullptr;
  return reduction == "mean" && all_count ? kAveraged : kNoAxis;
}

// Over the samples: their axis is not in the output.
int reduction(const SampledOp& op) {
  const Op& reduces = op.typed.op;
  if (is_one_of(reduces, {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}))
    return loss_of_classes(op);
  if (!op.has(0) || count_without_axis(op) + 1 != std::ssize(op.inputs)) return kNoAxis;
  if (is_one_of(reduces, {"ReduceSum", "ReduceL1", "ReduceSumSquare"})) return kSummed;
  return reduces.is("ReduceMean") ? kAveraged : kNoAxis;
}

// Scales and sums of totals are totals; a number more for each slice is none too many only in a mean.
int linear(const SampledOp& op) {
  const int kind = *std::find_if(op.inputs.begin(), op.inputs.end(), is_total);
  const std::ptrdiff_t totals = std::count(op.inputs.begin(), op.inputs.end(), kind);
  if (totals + count_without_axis(op) != std::ssize(op.inputs)) return kNoAxis;
  const Op& computes = op.typed.op;
  const bool of_one = totals == 1 && op.inputs[0] == kind;
  if (is_one_of(computes, {"Cast", "Div", "Flatten", "Identity", "Neg", "ReduceMean", "ReduceSum", "Reshape",
                           "Squeeze", "Transpose", "Unsqueeze"}))
    return of_one ? kind : kNoAxis;
  if (computes.is("Mul")) return totals == 1 ? kind : kNoAxis;
  const bool adds = is_one_of(computes, {"Add", "Mean", "Sub", "Sum"});
  return adds && (kind == kAveraged || count_without_axis(op) == 0) ? kind : kNoAxis;
}

}  // namespace

int total_over_samples(const SampledOp& op) {
  const bool of_totals = std::any_of(op.inputs.begin(), op.inputs.end(), is_total);
  const bool of_samples = std::any_of(op.inputs.begin(), op.inputs.end(), [](int axis) { return axis >= 0; });
  if (of_totals == of_samples) return kNoAxis;
  return of_totals ? linear(op) : reduction(op);
}

}  // namespace podium::ir
