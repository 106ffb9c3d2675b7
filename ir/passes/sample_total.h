// Sums and means over the samples of a batch, and what may be computed with them so that the parts of slices
// add up.
#pragma once

#include "ir/passes/sample_axis.h"

namespace podium::ir {

/// Two marks in place of a sample axis: the value is a sum over samples, or a mean over them. Sums of slices
/// add up to the sum of the batch; the mean of the batch is the mean of the slices' means.
inline constexpr int kSummed = -2;
inline constexpr int kAveraged = -3;

inline bool is_total(int axis) { return axis == kSummed || axis == kAveraged; }

/// Whether the op's output is a total: kSummed or kAveraged, else kNoAxis, also where it is not known. Asked
/// for an op whose inputs have an axis of samples that its output lacks, and for an op on totals.
int total_over_samples(const SampledOp& op);

}  // namespace podium::ir
