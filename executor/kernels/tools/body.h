// What the ops with bodies share: kept results, slices of what is scanned, stacks of what bodies give.
#pragma once

#include "executor/kernels/kernel.h"

namespace podium::kernels {

/// A result of a body that may outlive the run: memory of its own where it only looks at another's.
Datum kept(const Datum& datum);

/// The captured values of an op with bodies, in order; bodies take them after their formal inputs.
std::vector<Datum> captured(const RunContext& run, std::size_t formal_inputs);

/// What is at `index` along `axis`, without that dimension. Looks at the tensor's memory where it can.
Tensor slice_at(const Tensor& tensor, int axis, std::int64_t index);
/// Writes `part` at `index` along `axis` of `whole`, which has one dimension more.
void place_at(Tensor& whole, int axis, std::int64_t index, const Tensor& part);

/// Dimensions of a stack of no tensors: what is not known of `type`, which includes the stacked one, is 0.
Tensor empty_stack(const ir::Type& type);

}  // namespace podium::kernels
