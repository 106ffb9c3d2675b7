// Sums and means over the samples of a batch, and what may be computed with them so that the parts of slices
// add up.
#pragma once

#include "ir/passes/sample_axis.h"

namespace podium::ir {

/// In place of a sample axis: the value is a sum over samples, or a mean over them. What slices make of a sum
/// adds up to what the batch makes; of means it is the mean.
inline constexpr int kSummed = -2;
inline constexpr int kAveraged = -3;

inline bool is_total(int axis) { return axis == kSummed || axis == kAveraged; }

/// What an op makes whose output has no axis of samples although inputs have one, or of inputs that are
/// totals: kSummed or kAveraged; kNoAxis where it is neither or not known.
int total_over_samples(const SampledOp& op);

}  // namespace podium::ir
