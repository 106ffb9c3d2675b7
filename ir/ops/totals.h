// Sums and means over the samples of a batch: rules that rows share (OpSpec::total), which say when the parts
// of slices add up to what the batch gives.
#pragma once

#include "ir/ops/samples.h"

namespace podium::ir {

/// Two marks in place of a sample axis: the value is a sum over samples, or a mean over them. Sums of slices
/// add up to the sum of the batch; the mean of the batch is the mean of the slices' means.
inline constexpr int kSummed = -2;
inline constexpr int kAveraged = -3;

inline bool is_total(int axis) { return axis == kSummed || axis == kAveraged; }

// Each rule gives kSummed or kAveraged, else kNoAxis, also where it is not known.

/// Of an op that is linear in its first input, as long as that one alone is a total.
int total_of_first(const SampledOp& op);
/// Of a product of two inputs, either of which may be the total.
int scaled_total(const SampledOp& op);
/// Of a sum of the inputs: a number more for each slice is one too many, but not in a mean.
int sum_of_totals(const SampledOp& op);
/// Of reductions over samples; the linear ones take totals, too.
int sum_over_samples(const SampledOp& op);
int mean_over_samples(const SampledOp& op);
int sum_of_sizes(const SampledOp& op);
/// Of ONNX's losses: their mean divides by the number, or the weights, of the labels that count, and these
/// may differ from slice to slice.
int loss_over_samples(const SampledOp& op);

}  // namespace podium::ir
