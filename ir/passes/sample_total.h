// What may be computed with sums and means over the samples of a batch so that the parts of slices add up.
#pragma once

#include "ir/ops/totals.h"

namespace podium::ir {

/// Whether the op's output is a total, by its row: kSummed or kAveraged, else kNoAxis, also where it is not
/// known. Asked for an op whose inputs have an axis of samples that its output lacks, and for an op on
/// totals.
int total_over_samples(const SampledOp& op);

}  // namespace podium::ir
