// The sum of tensors that are alike, term by term in the order given: what a collective computes.
#pragma once

#include <span>

#include "ir/tensor.h"

namespace podium::kernels {

/// Writes elements [first, first + count) of the sum of `terms` to the first elements of `sum`; with `mean`
/// divided by the number of terms. Floats narrower than float are added in float and rounded once. Error for
/// elements that cannot be added.
void add_up(std::span<const ir::Tensor* const> terms, bool mean, std::int64_t first, std::int64_t count,
            ir::Tensor& sum);

}  // namespace podium::kernels
