// Gradients of a graph given as text, and the same by central differences.
#pragma once

#include <string>
#include <vector>

#include "ir/datum.h"

namespace podium::testing {

using Tensors = std::vector<ir::Datum>;

/// What element i of the first output counts in the sum that is differentiated.
double weight(std::int64_t i);

/// Numbers from 0.3 to 1.7 in no order, so that logarithms and roots are defined.
ir::Tensor numbers(ir::Dims dims, double phase = 0);

/// The gradients of the weighted sum of the first output with respect to the double inputs.
Tensors gradients(const std::string& text, const Tensors& inputs);

/// Every element within 2e-7 of the central difference, relative to the larger of 1 and its size.
void expect_gradients_of_differences(const std::string& text, const Tensors& inputs);

}  // namespace podium::testing
