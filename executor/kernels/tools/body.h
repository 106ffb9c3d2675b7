// Parts that the ops with bodies share: kept results, slices of scanned inputs, stacks of the bodies'
// outputs.
#pragma once

#include "executor/kernels/tools/kernel.h"

namespace podium::kernels {

/// A result of a body that may outlive the run: a copy where the result only views memory of another.
Datum kept(const Datum& datum);

/// The captured values of an op with bodies, in order; bodies take them after their formal inputs.
std::vector<Datum> captured(const RunContext& run, std::size_t formal_inputs);

/// The slice at `index` along `axis`, without that dimension. It shares the tensor's memory where it can.
Tensor slice_at(const Tensor& tensor, int axis, std::int64_t index);
/// Writes `part` at `index` along `axis` of `whole`, which has one dimension more.
void place_at(Tensor& whole, int axis, std::int64_t index, const Tensor& part);

/// A stack of no tensors. Unknown dimensions of `type`, the stacked one among them, are 0.
Tensor empty_stack(const ir::Type& type);

}  // namespace podium::kernels
