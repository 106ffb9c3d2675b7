// The elements that a reduction joins, for all reductions of one tensor over some axes.
#pragma once

#include <vector>

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// The tensor as runs of elements that lie side by side. Either every run is reduced (the last axes are), or
/// the elements of runs are reduced with those of other runs (the last axes are kept).
struct ReducePlan {
  std::vector<std::int64_t> kept;     ///< where each output (or row of `run` outputs) starts
  std::vector<std::int64_t> reduced;  ///< from there, where each run that goes into it starts
  std::int64_t run = 1;
  bool run_is_reduced = true;
  std::int64_t count = 1;  ///< elements in each output

  std::int64_t outputs() const { return std::ssize(kept) * (run_is_reduced ? 1 : run); }
};

/// Plans the reduction. `axes` are in [0, rank); without axes nothing is reduced.
ReducePlan plan_reduce(const Dims& dims, const Dims& axes);

/// The axes a reduction with these attributes goes over; `axes`: nullptr when left out.
Dims reduced_axes(std::int64_t rank, const Tensor* axes, bool noop_with_empty_axes);

PreparedKernel prepare_arg_max(PrepareContext& context);
PreparedKernel prepare_arg_min(PrepareContext& context);
PreparedKernel prepare_cum_sum(PrepareContext& context);
PreparedKernel prepare_cum_prod(PrepareContext& context);

}  // namespace podium::kernels
